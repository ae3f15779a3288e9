-- kind: expand
-- Bodies of refused calls had passwords and codes in them, of calls outside of /v1. The table is
-- written anew without any: what is only updated would stay in its file until it is overwritten.
-- Programs of before lose the notes that they would still write so, and nothing else.
create temporary table refusal_before on commit drop as
  select id, customer_id, key_id, at, path, code, key, request_id, ip, ms, hashed_bytes,
    body_sha256, right_for
  from refusal;
truncate refusal;
insert into refusal (id, customer_id, key_id, at, path, code, key, request_id, ip, ms,
  hashed_bytes, body_sha256, right_for)
overriding system value
select id, customer_id, key_id, at, path, code, key, request_id, ip, ms, hashed_bytes, body_sha256,
  right_for
from refusal_before order by id;
alter table refusal add constraint refusal_body_for_keys
  check (body is null or starts_with(path, '/v1/'));
