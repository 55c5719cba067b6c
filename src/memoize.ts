/** Keys other than objects that one memoized function keeps results for. */
const MAX_KEPT = 4_096;

/**
 * A function that computes its result once for each argument and then returns the same one.
 *
 * Results of objects and functions live as long as the object. Results of other arguments live as
 * long as the memoized function; after 4,096 of them, further arguments are computed at each call. A
 * call that throws keeps nothing.
 *
 * @param options.limit most arguments, other than objects, whose results are kept; default 4,096.
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
