-- kind: expand
-- What the check of the books has found twice stops money that leaves until an operator has seen to
-- it, and no worker can say that somebody has. Findings are not deleted: those that are not found
-- any more are gone, and stay until they are accepted.
alter table books_finding add column gone_at timestamptz;
alter table books_finding add column accepted_at timestamptz;

-- A program of before deletes findings that are gone, which changes nothing.
alter table books_finding enable row level security;
create policy books_finding_is_read on books_finding for select using (true);
create policy books_finding_is_found on books_finding for insert to penstock_worker
  with check (accepted_at is null);
create policy books_finding_is_gone on books_finding for update to penstock_worker using (true);
create policy books_finding_is_accepted on books_finding for all to penstock_admin using (true);
revoke update on books_finding from penstock_worker;
grant update (found_at, gone_at) on books_finding to penstock_worker;
grant update (accepted_at), delete on books_finding to penstock_admin;

-- An alert about the books stays as long as they are broken.
alter table alert enable row level security;
create policy alert_is_read on alert for select using (true);
create policy alert_is_raised on alert for insert to penstock_worker with check (true);
create policy alert_is_told on alert for update to penstock_worker, penstock_admin using (true);
create policy alert_is_cleared on alert for delete to penstock_worker using (
  alert <> 'books_broken' or not exists (
    select from books_finding
    where gone_at is null or accepted_at is null or accepted_at < found_at));

-- A worker takes services off sale, and puts none back.
alter table service enable row level security;
create policy service_is_read on service for select using (true);
create policy service_is_taken_off on service for update to penstock_worker
  using (true) with check (not on_sale);
create policy service_is_switched on service for update to penstock_admin using (true);
alter table aml_service enable row level security;
create policy aml_service_is_read on aml_service for select using (true);
create policy aml_service_is_taken_off on aml_service for update to penstock_worker
  using (true) with check (not on_sale);
create policy aml_service_is_switched on aml_service for update to penstock_admin using (true);

-- What the service itself orders is ordered by workers.
alter table orders enable row level security;
create policy orders_are_read on orders for select using (true);
create policy orders_are_bought on orders for insert to penstock_api
  with check (state = 'new' and customer_id not in ('subscriptions', 'direct_recharge'));
create policy orders_are_placed on orders for insert to penstock_worker with check (true);
create policy orders_are_moved on orders for update to penstock_worker, penstock_admin using (true);

-- What a signature is for, and what it cost.
grant select on price, fee, quote, books_finding, pool, signing, operator_action, plan
  to penstock_signer;

-- The least that so much could have cost within seconds of a moment, by the prices then in force,
-- rounded as charge() of prices.ts rounds; null: it was not sold. What was shipped was in force
-- from the beginning.
create function least_price_sun(energy bigint, bandwidth bigint, at timestamptz) returns bigint
  language sql stable as $$
  select case when count(least_sun) = count(*) then coalesce(sum(least_sun), 0)::bigint end
  from (values ('energy', energy), ('bandwidth', bandwidth)) as part (resource, amount),
    lateral (
      select min(greatest((price_sun * part.amount + 5000000) / 10000000, 1) * 10000) as least_sun
      from price
      where price.resource = part.resource and part.amount between min_amount and max_amount
        and (changed_by = 'shipped' or since < at + interval '10 seconds')
        and (until is null or until > at - interval '10 seconds')) as charged
  where part.amount > 0
$$;

-- The same of an activation.
create function least_fee_sun(at timestamptz) returns bigint language sql stable as $$
  select min(price_sun) from fee
  where name = 'activate_address'
    and (changed_by = 'shipped' or since < at + interval '10 seconds')
    and (until is null or until > at - interval '10 seconds')
$$;

-- Whether an order cost what a price in force when it was made says, or when its quote was: what a
-- subscription supplies costs nothing, and what a deposit brings is not rounded to cents.
create function is_priced(o orders) returns boolean language sql stable as $$
  select case o.customer_id when 'subscriptions' then o.amount_sun = 0
    when 'direct_recharge' then exists (
      select from price as p
      where p.resource = 'energy' and o.energy between p.min_amount and p.max_amount
        and o.energy * p.price_sun <= o.amount_sun * 1000
        and (p.changed_by = 'shipped' or p.since < o.created_at + interval '10 seconds')
        and (p.until is null or p.until > o.created_at - interval '10 seconds'))
    else o.amount_sun - o.fee_sun >= least(
      least_price_sun(o.energy, o.bandwidth, o.created_at), (
        select least_price_sun(o.energy, o.bandwidth, q.made_at) from quote as q
        where q.id = o.quote_id and o.created_at between q.made_at and q.expires_at
          and q.expires_at < q.made_at + interval '10 minutes')) end
$$;

-- The same of the fee for an activation.
create function pays_fee(o orders) returns boolean language sql stable as $$
  select o.fee_sun >= least(least_fee_sun(o.created_at), (
    select least_fee_sun(q.made_at) from quote as q
    where q.id = o.quote_id and o.created_at between q.made_at and q.expires_at
      and q.expires_at < q.made_at + interval '10 minutes'))
$$;
