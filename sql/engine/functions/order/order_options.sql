-- order_options: returns what an enqueue stores in the options of a job with an order key: {"order_key",
-- "if_head_fails"}; null without a key. What the enqueue doesn't name comes from its kind.
--
-- Raises ER422, with context in front, for a key that is empty or has more than 500 characters, and for another
-- if_head_fails than block and go_on, or one without a key.
create or replace function errand_internal.order_options(
    context text, order_key text, if_head_fails text, kind_key text, kind_says text
) returns jsonb
language plpgsql immutable set search_path = pg_catalog, errand, pg_temp as $$
declare
    key constant text := coalesce(order_options.order_key, kind_key);
begin
    if length(key) not between 1 and 500 then
        raise exception '%: order_key: expected 1 to 500 characters, got %', context, length(key)
            using errcode = 'ER422';
    elsif order_options.if_head_fails not in ('block', 'go_on') then
        raise exception '%: if_head_fails: expected block or go_on, got %', context,
            quote_literal(left(order_options.if_head_fails, 120)) using errcode = 'ER422';
    elsif key is null and order_options.if_head_fails is not null then
        raise exception '%: if_head_fails: expected an order_key beside it, got none', context using errcode = 'ER422';
    end if;
    return case
        when key is not null then jsonb_build_object(
            'order_key', key, 'if_head_fails', coalesce(order_options.if_head_fails, kind_says, 'block'))
    end;
end
$$;
