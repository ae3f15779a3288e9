-- kind: expand
-- A use counts what our energy paid of it, and costs no more than the same energy by orders would
-- have. `own_energy`: what the address had that was not ours, when it was last looked at, and what
-- of it a use may have taken. `by_orders_sun`: what the energy used would have cost by orders.
alter table subscription add column own_energy bigint not null default 0;
alter table subscription add column by_orders_sun bigint not null default 0;
alter table subscription_use add column own_energy bigint not null default 0;
alter table subscription_use add column by_orders_sun bigint not null default 0;

-- Of what was used before, nobody knows it: the price that was paid, and the share of the start.
update subscription_use set by_orders_sun = charged_sun where charged_sun > 0;
update subscription as s
set by_orders_sun = plan.initial_price_sun * least(s.transactions_used, greatest(plan.included, 1))
  / greatest(plan.included, 1) + coalesce((
    select sum(charged_sun) from subscription_use where subscription_id = s.id), 0)
from plan where plan.id = s.plan_id and s.transactions_used > 0;
