-- What a customer may have at once, where it is not what everybody may have.
alter table customer add column subscriptions_limit integer;
alter table customer add column open_orders_limit integer;
alter table customer add constraint customer_limits
  check (least(subscriptions_limit, open_orders_limit) >= 0);

-- After so many hours without a use of its energy an address is supplied no more, until it is used again. 0: never.
alter table plan add column idle_hours integer not null default 2;
alter table plan add constraint plan_idle_hours check (idle_hours >= 0);

-- The price of each transaction that the supplied energy is for, and that the plan does not include, is held before it is
-- supplied. The holds of a subscription are numbered: the first `holds_ended` were resolved, the others are open.
alter table subscription add column holds_made integer not null default 0;
alter table subscription add column holds_ended integer not null default 0;
alter table subscription add constraint subscription_holds
  check (holds_ended between 0 and holds_made);

-- A subscription that runs may rest: its energy is taken back, and none is supplied.
alter table subscription add column resting text;
alter table subscription add column rested_at timestamptz;     -- when it was last put to rest
alter table subscription add column idle_since timestamptz not null
  default date_trunc('milliseconds', now());
alter table subscription alter column idle_since drop default;
alter table subscription add constraint subscription_resting
  check (resting is null or (resting in ('idle', 'daily_cap') and rested_at is not null));

-- `withdrawn`: what it had is taken back, and every block until then has been read and is solid.
drop index subscription_to_withdraw;
create index subscription_to_withdraw on subscription (id)
  where (state in ('stopped', 'expired', 'error') or resting is not null) and not withdrawn;
drop index subscription_ended;
create index subscription_ended on subscription (address)
  where state in ('stopped', 'expired') and not withdrawn;
create index subscription_running on subscription (customer_id)
  where state in ('new', 'pending', 'active');

-- Open orders are counted by customer.
drop index orders_open;
create index orders_open on orders (customer_id, id) where state in ('new', 'pending');

-- Whether energy for a subscription lay at its address in a block: supplied in one before, and not all taken back before it.
create function was_supplied(subscription text, block bigint) returns boolean language sql stable as $$
  select exists (
    select 1 from subscription_supply as supply join delegation as d on d.order_id = supply.order_id
      join attempt as given on given.id = d.attempt_id left join attempt as taken on taken.id = d.reclaim_id
    where supply.subscription_id = subscription and given.block_number < block
      and (taken.block_number is null or taken.block_number >= block))
$$;
