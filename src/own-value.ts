// Objects whose keys come from outside: names of settings, mounts, items and sites. A name such as
// `constructor` or `__proto__` is a key like any other; `object[key]` would find or set what every
// object inherits.

/** The object's own member; undefined: it has none. */
export function ownValue<V>(
  object: Readonly<Record<string, V>> | undefined,
  key: string,
): V | undefined {
  return object !== undefined && Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Sets a member of the object itself. */
export function setOwn<V>(object: Record<string, V>, key: string, value: V): void {
  Object.defineProperty(object, key, {
    value,
    configurable: true,
    enumerable: true,
    writable: true,
  });
}
