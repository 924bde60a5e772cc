module attributes {a.b = "abc
} {}
