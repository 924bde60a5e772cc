//! How lists read in sentences, and which word was probably meant.

/// Words as a reader expects them: `a, b and c`.
pub fn listed<S: AsRef<str>>(words: &[S], conjunction: &str) -> String {
    let words: Vec<_> = words.iter().map(AsRef::as_ref).collect();
    match words.as_slice() {
        [] => String::new(),
        [word] => (*word).to_owned(),
        [rest @ .., last] => format!("{} {conjunction} {last}", rest.join(", ")),
    }
}

/// The name that was probably meant by `word`, by its spellings: one that is spelled so, that `word` is the start or a
/// part of, or that has the same first letter and at most a quarter of the letters otherwise. Of equals, the first.
pub fn closest<'n>(word: &str, spellings: impl Iterator<Item = (&'n str, String)>) -> Option<&'n str> {
    let word = word.to_lowercase();
    let ranked = spellings.filter_map(|(name, spelling)| Some((unlikeness(&word, &spelling)?, name)));
    ranked.min_by_key(|(rank, _)| *rank).map(|(_, name)| name)
}

/// How unlike a spelling is to a word in lower case, if it can be meant by it.
fn unlikeness(word: &str, spelling: &str) -> Option<usize> {
    const SHORTEST_START: usize = 2;
    const SHORTEST_PART: usize = 3;
    const LONGEST: usize = 32;
    let (letters, first) = (word.chars().count(), word.chars().next()?);
    match spelling {
        _ if letters > LONGEST => None,
        _ if spelling == word => Some(0),
        _ if letters >= SHORTEST_START && spelling.starts_with(word) => Some(1),
        _ if letters >= SHORTEST_PART && spelling.contains(word) => Some(2),
        _ if spelling.len() >= SHORTEST_PART && word.ends_with(spelling) => Some(2),
        _ => {
            let typos = strsim::osa_distance(word, spelling);
            (typos <= (letters / 4).max(1) && spelling.starts_with(first)).then_some(2 + typos)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(word: &str) -> Option<&'static str> {
        let names = ["jax", "jax-lax", "numpy2", "torch", "dask", "jep9407-option0", "jep9407-option2"];
        closest(word, names.into_iter().map(|name| (name, name.to_owned())))
    }

    #[test]
    fn lists() {
        assert_eq!(listed::<&str>(&[], "and"), "");
        assert_eq!(listed(&["a"], "and"), "a");
        assert_eq!(listed(&["a", "b"], "or"), "a or b");
        assert_eq!(listed(&["a", "b", "c"], "and"), "a, b and c");
    }

    #[test]
    fn what_is_like_is_meant() {
        for (word, name) in [
            ("JAX", "jax"),
            ("jaxx", "jax"),
            ("lax", "jax-lax"),
            ("numpi2", "numpy2"),
            ("pytorch", "torch"),
            ("dusk", "dask"),
            ("jep", "jep9407-option0"),
            ("option2", "jep9407-option2"),
        ] {
            assert_eq!(meant(word), Some(name), "{word}");
        }
    }

    #[test]
    fn nothing_absurd_is() {
        for word in ["", "x", "none", "theano", "python", "ax", "torus23", &"jax".repeat(100)] {
            assert_eq!(meant(word), None, "{word}");
        }
    }
}
