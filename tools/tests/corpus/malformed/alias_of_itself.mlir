!t = tuple<!t>
func.func private @f(!t)
