use promote_lattice::Semantics;
#[test]
fn probe() {
    for e in std::fs::read_dir("../examples/lattices").unwrap() {
        let p = e.unwrap().path();
        let t = std::fs::read_to_string(&p).unwrap();
        let r = Semantics::from_toml(&t, "x");
        println!("{p:?} {}", r.map_or_else(|e| e.to_string(), |s| format!("{:?}", s.defaults())));
    }
    for t in std::fs::read_to_string("/tmp/bad.txt").unwrap().split("=====\n") {
        println!("-----\n{t}");
        match Semantics::from_toml(t, "x") {
            Ok(s) => println!("OK {:?}", s.defaults()),
            Err(e) => {
                for e in &e.errors {
                    println!("{e}");
                    for n in &e.notes {
                        println!("   note {:?}: {}", n.place.as_ref().map(|p| p.to_string()), n.message)
                    }
                    if let Some(r) = &e.remedy {
                        println!("   help: {r}")
                    }
                }
                println!("more {}", e.more);
            }
        }
    }
}
