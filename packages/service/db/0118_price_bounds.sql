-- kind: expand
-- Prices are raised by no more than the highest step of their rule, and by a floor to ten times
-- what was set at most, whatever a worker writes: its right is to say where within the rule they
-- are. A floor that was right when it was worked out may be far above a price that was lowered
-- since.
create or replace function raised_sun(base bigint, raise integer, least_sun bigint) returns bigint
  language sql immutable as $$
    select greatest((base * (100 + raise) + 99) / 100,
      case when least_sun > 10 * base then 10 * base else least_sun end)
  $$;

create or replace function ruled_sun(wanted text, base bigint) returns bigint
  language sql stable as $$
    select coalesce((
      select raised_sun(base,
        least(r.raise_percent, coalesce((
          select max((step ->> 'raise_percent')::integer) from jsonb_array_elements(r.steps) as step
        ), 0)),
        case when r.margin_percent is not null then r.floor_sun end)
      from price_rule as r where r.resource = wanted), base)
  $$;
