-- What a customer has set for itself. No row: nothing is set.
create table customer_setting (
  customer_id     text not null,
  balance_low_sun bigint,      -- tell when less can be spent; null: never
  ending_minutes  integer,                           -- tell so long before an hour is over
  billing         text[] not null default '{}',  -- its own lines on its invoices
  changed_at      timestamptz not null,
  constraint customer_setting_pkey primary key (customer_id),
  constraint customer_setting_of_customer foreign key (customer_id) references customer (id),
  constraint customer_setting_balance_low check (balance_low_sun > 0),
  constraint customer_setting_ending_minutes check (ending_minutes between 1 and 55),
  constraint customer_setting_billing check (cardinality(billing) <= 8)
);
