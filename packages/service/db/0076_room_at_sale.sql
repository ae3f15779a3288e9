-- kind: expand
-- What was left of a resource when some of it was sold last: no sale goes beyond what there is. A
-- later survey may find less room than is reserved; that is no sale.
alter table pool
  add column free_at_sale bigint not null default 0
    constraint pool_not_oversold check (free_at_sale >= 0);
grant update (free_at_sale) on pool to penstock_api;
