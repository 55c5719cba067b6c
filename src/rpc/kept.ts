/** Gives what is kept for an object, and makes it where nothing is. */
export type Keep<K extends object, V> = (key: K, make: () => V | Promise<V>) => V | Promise<V>;

/**
 * Keeps what was made of objects as long as they live. A promise is kept until it is settled, and then
 * what it gave; one that fails is given up.
 */
export function createKeep<K extends object, V>(): Keep<K, V> {
  const kept = new WeakMap<K, V | Promise<V>>();
  return (key, make) => {
    const known = kept.get(key);
    if (known !== undefined) return known;
    const made = make();
    kept.set(key, made);
    if (made instanceof Promise)
      made.then(
        (value) => kept.set(key, value),
        () => kept.delete(key),
      );
    return made;
  };
}
