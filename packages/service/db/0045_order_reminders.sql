-- What else a customer is told of an order, once each. `delayed_at`: that it was open for long;
-- `ending_at`: that its hour is nearly over; `solid_at`: that no fork can take back any part of it.
alter table orders
  add column delayed_at timestamptz,
  add column ending_at  timestamptz,
  add column solid_at   timestamptz;

-- Nobody is told of what was over before: it says when it was placed.
update orders set solid_at = created_at
where state = 'success' and (ended_at is not null or energy + bandwidth = 0);

create index orders_not_delayed on orders (created_at)
  where state in ('new', 'pending') and delayed_at is null;
create index orders_not_solid on orders (id) where state = 'success' and solid_at is null;
create index orders_not_ending on orders (customer_id, created_at)
  where state = 'success' and ended_at is null and ending_at is null and energy + bandwidth > 0;
create index customer_setting_ending on customer_setting (customer_id)
  where ending_minutes is not null;
