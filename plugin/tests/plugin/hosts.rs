//! What loads the plugin, and what it takes from it.

use std::process::Command;

use crate::needed::programs;
use crate::support::{plugin, run};

/// Asks the plugin for its passes, after another library was loaded.
const HOST: &str = r#"
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
struct info { uint32_t api_version; const char *name, *version; void (*registers)(void *); };
int main(int count, char **paths) {
  struct info (*ask)(void), info;
  void *plugin, *address;
  int index;
  for (index = 2; index < count; index++)
    if (dlopen(paths[index], RTLD_NOW | RTLD_GLOBAL) == NULL) return 2;
  plugin = dlopen(paths[1], RTLD_NOW);
  if (plugin == NULL) { fprintf(stderr, "%s\n", dlerror()); return 3; }
  address = dlsym(plugin, "mlirGetPassPluginInfo");
  if (address == NULL) return 4;
  memcpy(&ask, &address, sizeof address);
  info = ask();
  printf("%u %s %s\n", info.api_version, info.name, info.registers == NULL ? "none" : "some");
  return 0;
}
"#;

#[test]
fn a_tool_with_another_mlir_is_refused_with_the_version() {
    programs(&["cc"]);
    let folder = tempfile::tempdir().expect("there is a temporary directory");
    let (source, host) = (folder.path().join("host.c"), folder.path().join("host"));
    std::fs::write(&source, HOST).expect("it can be written");
    run(Command::new("cc").arg(&source).arg("-o").arg(&host).arg("-ldl"), "").text();
    let loads = |library: &std::path::Path| {
        let mut command = Command::new(&host);
        command.arg(plugin()).arg(library).env("LD_LIBRARY_PATH", crate::needed::of_llvm("lib"));
        run(&mut command, "")
    };
    // A library is known by its name.
    let empty = folder.path().join("empty.c");
    std::fs::write(&empty, "").expect("it can be written");
    for version in ["21.1", "22.0", "22", "23.1"] {
        let other = folder.path().join(format!("libMLIR.so.{version}"));
        run(Command::new("cc").arg("-shared").arg(&empty).arg("-o").arg(&other), "").text();
        let answer = loads(&other);
        if version == "22" {
            assert_eq!(answer.text(), "1 promote some\n");
            continue;
        }
        assert_eq!(answer.out, "0 promote none\n", "{}", answer.err);
        let message = format!("the tool that loads it has MLIR {version};");
        assert!(answer.err.contains(&message) && answer.err.contains("plugin/build.sh"), "{}", answer.err);
    }
    // With the right one it is taken.
    let right = crate::needed::of_llvm("lib/libMLIR.so");
    assert_eq!(loads(&right).text(), "1 promote some\n");
}

#[test]
fn the_plugin_exports_what_tools_ask_for_and_carries_no_mlir() {
    programs(&["nm", "readelf"]);
    let exported = run(Command::new("nm").args(["-D", "--defined-only"]).arg(plugin()), "").text();
    let exported: Vec<_> = exported.lines().filter_map(|line| line.split(' ').next_back()).collect();
    assert_eq!(exported, ["mlirGetDialectPluginInfo", "mlirGetPassPluginInfo"]);
    let needed = run(Command::new("readelf").arg("-d").arg(plugin()), "").text();
    for library in ["libMLIR.so.22", "libLLVM.so.22"] {
        assert!(needed.contains(library), "{needed}");
    }
    let size = std::fs::metadata(plugin()).expect("it is there").len();
    assert!(size < 20 << 20, "{size} bytes");
}
