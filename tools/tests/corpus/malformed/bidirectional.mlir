// ‮
func.func @"‮"() { return }
func.func @"‮"() { return }
