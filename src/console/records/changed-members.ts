/** Members of a form that differ from those at its beginning. */
export function changedMembers<T extends object>(before: T, now: T): Partial<T> {
  const plain = (value: unknown): string =>
    JSON.stringify(value instanceof Set || value instanceof Map ? [...value] : value);
  const changed = Object.entries(now).filter(
    ([name, value]) => plain(before[name as keyof T]) !== plain(value),
  );
  return Object.fromEntries(changed) as Partial<T>;
}
