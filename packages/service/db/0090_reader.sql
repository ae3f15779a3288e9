-- kind: expand
-- Reports read no bodies of calls, no addresses of webhooks (people put tokens there), not what was
-- changed into what, and not from where people come. Of these tables each column is granted by its
-- name, so that a new one is left out until somebody has thought about it.
do $$
declare
  kept record;
begin
  for kept in
    select c.relname as name, string_agg(quote_ident(a.attname), ', ' order by a.attnum) as columns
    from (values
      ('refusal', '{body,ip}'::text[]),
      ('webhook', '{url}'),
      ('operator_action', '{before,after,made_from}'),
      ('customer_action', '{before,after,ip}'),
      ('operation_proposal', '{body}'),
      ('sign_in', '{name_hash,count_hash,ip,network}')) as private (name, columns)
    join pg_class as c on c.oid = private.name::regclass
    join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      and a.attname <> all (private.columns)
    group by c.relname
  loop
    execute format('revoke select on %I from penstock_read', kept.name);
    execute format('grant select (%s) on %I to penstock_read', kept.columns, kept.name);
  end loop;
end $$;
revoke select on pairing from penstock_read;
grant select (id, name, made_at, ends_at, taken_at, refused_at, scopes, approved_at, customer_id,
  key_id) on pairing to penstock_read;
