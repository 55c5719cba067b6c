/** Maximum number of cached results of a memoized function, without those of objects. */
const MAX_KEPT = 4_096;

/**
 * Creates a function that computes its result once per argument and then returns the cached one.
 *
 * Results for objects and functions live as long as the object. Results for other arguments live as
 * long as the memoized function; after 4,096 of them, results for further arguments are not cached.
 * Errors are not cached.
 *
 * @param options.limit maximum number of cached results for arguments other than objects; default
 *   4,096.
 */
export function memoize<K, V>(
  compute: (key: K) => V,
  { limit = MAX_KEPT }: { readonly limit?: number } = {},
): (key: K) => V {
  const ofObjects = new WeakMap<object, V>();
  const ofValues = new Map<K, V>();
  return (key) => {
    if ((typeof key === "object" && key !== null) || typeof key === "function") {
      const found = ofObjects.get(key);
      if (found !== undefined || ofObjects.has(key)) return found as V;
      const made = compute(key);
      ofObjects.set(key, made);
      return made;
    }
    const found = ofValues.get(key);
    if (found !== undefined || ofValues.has(key)) return found as V;
    const made = compute(key);
    if (ofValues.size < limit) ofValues.set(key, made);
    return made;
  };
}
