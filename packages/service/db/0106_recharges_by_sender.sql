-- kind: expand
-- Who buys without an account finds the payment again by the address that it came from.
create index deposit_of_sender on deposit (from_address, block_number) where customer_id is null;
