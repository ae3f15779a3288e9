-- Customers can be suspended and closed; keys can expire, and can refuse purchases that name no id of the caller's own.

-- suspended: nothing new is begun for the customer, everything that looks goes on. closed: for good, without keys.
alter table customer add column state text not null default 'active';
alter table customer add constraint customer_state_known check (state in ('active', 'suspended', 'closed'));

alter table api_key add column expires_at timestamptz;            -- null: never
alter table api_key add column require_external_id boolean not null default false;
