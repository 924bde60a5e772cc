def f(x, y):
    return x * 2 + y
