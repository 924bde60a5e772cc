"""What record_jax_control_flow.py is made of."""
