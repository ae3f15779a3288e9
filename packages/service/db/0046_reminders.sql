-- What customers are told of keys, balances and watched addresses.

-- When it was told that a key ends soon.
alter table api_key add column ending_at timestamptz;
create index api_key_ending on api_key (expires_at)
  where revoked_at is null and ending_at is null and expires_at is not null;

-- A purchase was refused because a key had spent too much on that day already.
create table api_key_cap (
  key_id        text not null,
  day           date not null,
  told_at       timestamptz,                      -- null: the customer is still to be told
  constraint api_key_cap_pkey primary key (key_id, day),
  constraint api_key_cap_key foreign key (key_id) references api_key (id)
);
create index api_key_cap_to_tell on api_key_cap (key_id) where told_at is null;

-- When it was told that the balance is low; null again once it was well above the limit.
alter table customer_setting add column balance_low_at timestamptz;
create index customer_setting_balance_low on customer_setting (customer_id)
  where balance_low_sun is not null;

create index aml_watch_of_address on aml_watch (address);
