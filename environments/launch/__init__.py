"""What runs beside: shops in containers, and the watchdog that ends what is left."""
