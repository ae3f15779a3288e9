-- kind: expand
-- Rules that raise prices above what an operator has set: to a floor by cost, and by steps as the
-- pool fills. A price that a rule has raised is a row like any other, with the price that was set
-- beside it, so that what was in force at any time can be read back, and never falls below that.
create table price_rule (
  resource       text not null,
  margin_percent integer,                            -- of the floor above cost; null: no floor
  steps          jsonb not null,                     -- [{"full_percent", "raise_percent"}]
  floor_sun      bigint,                             -- of 1000 units; null: no cost is known
  refused_sun    bigint,                             -- a floor too far from the prices to be right
  floor_at       timestamptz,
  raise_percent  integer not null default 0,
  full_percent   integer not null default 0,         -- when it was last looked at
  raised_at      timestamptz not null,               -- the raise is of then
  looked_at      timestamptz not null,
  set_at         timestamptz not null,
  set_by         text not null,
  constraint price_rule_pkey primary key (resource),
  constraint price_rule_resource check (resource in ('energy', 'bandwidth')),
  constraint price_rule_margin check (margin_percent between 0 and 1000),
  constraint price_rule_floor check (floor_sun > 0 and refused_sun > 0),
  constraint price_rule_raise check (raise_percent between 0 and 1000),
  constraint price_rule_full check (full_percent between 0 and 100)
);

alter table price
  add column base_sun bigint,                        -- as set, where a rule has raised it
  add constraint price_raised check (base_sun > 0 and base_sun < price_sun);

-- Of 1000 units: the price that was set, raised by so much of a hundred, and the floor at least.
create function raised_sun(base bigint, raise integer, least_sun bigint) returns bigint
  language sql immutable as $$
    select greatest((base * (100 + raise) + 99) / 100, least_sun)
  $$;

create function ruled_sun(wanted text, base bigint) returns bigint language sql stable as $$
  select coalesce((
    select raised_sun(base, r.raise_percent, r.floor_sun) from price_rule as r
    where r.resource = wanted), base)
$$;

-- Prices follow their rule by a trigger that works as the owner, whoever changes it: a worker may
-- say how much is raised, within the bounds above, and never what a price is raised from.
create function reprice() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
declare
  tier record;
begin
  lock table price in share row exclusive mode;
  for tier in
    select p.id, p.min_amount, p.max_amount, p.price_sun, p.since,
      coalesce(p.base_sun, p.price_sun) as base,
      ruled_sun(new.resource, coalesce(p.base_sun, p.price_sun)) as ruled
    from price as p where p.resource = new.resource and p.until is null order by p.min_amount
  loop
    continue when tier.ruled = tier.price_sun;
    update price set until = greatest(new.looked_at, tier.since) where id = tier.id;
    insert into price (resource, min_amount, max_amount, price_sun, base_sun, since, changed_by)
    values (new.resource, tier.min_amount, tier.max_amount, tier.ruled,
      nullif(tier.base, tier.ruled), new.looked_at, 'price rules');
  end loop;
  return null;
end $$;

create trigger price_rule_reprices after update on price_rule
  for each row
  when (old.floor_sun is distinct from new.floor_sun or old.raise_percent <> new.raise_percent)
  execute function reprice();

grant select on price_rule to penstock_worker, penstock_admin, penstock_read;
grant insert, update, delete on price_rule to penstock_admin;
grant update (floor_sun, refused_sun, floor_at, raise_percent, full_percent, raised_at, looked_at)
  on price_rule to penstock_worker;
