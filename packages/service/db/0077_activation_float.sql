-- kind: expand
-- How many activations the wallet that pays for them could pay for at a block: what it cannot pay
-- for is not sold.
create table activation_float (
  one           boolean not null default true,
  address       text not null,
  payable       bigint not null,
  block_number  bigint not null,
  constraint activation_float_pkey primary key (one),
  constraint activation_float_has_one_row check (one),
  constraint activation_float_payable check (payable >= 0)
);
grant select on activation_float to penstock_api, penstock_worker, penstock_admin, penstock_read;
grant insert, update on activation_float to penstock_worker;
