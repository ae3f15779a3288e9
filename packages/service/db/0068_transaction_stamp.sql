-- kind: expand
-- The network has no nonces: two transactions of ours with equal contracts that expire alike are
-- one, unless their timestamps differ. Each that is signed, in no matter which process, takes the
-- next number for its timestamp; a million are signed between two blocks by nobody.
create sequence transaction_stamp as integer maxvalue 1000000 cycle;
grant usage on sequence transaction_stamp to penstock_worker;
