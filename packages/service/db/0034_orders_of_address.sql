-- A customer's orders for one address, for its lists.
create index orders_of_customer_address on orders (customer_id, address, id desc);
