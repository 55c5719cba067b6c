/** Keeps what was made of objects as long as they live. */
export function createKeep<K extends object, V>(): (key: K, make: () => V) => V {
  const kept = new WeakMap<K, { readonly made: V }>();
  return (key, make) => {
    const found = kept.get(key) ?? { made: make() };
    kept.set(key, found);
    return found.made;
  };
}
