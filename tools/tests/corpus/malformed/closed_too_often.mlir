module {}}}}}
