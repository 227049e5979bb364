/** What is made of an object once, and goes with it. */

/** The same function, run once for each object. */
export function remembered<K extends object, V>(make: (key: K) => V): (key: K) => V {
  const known = new WeakMap<K, V>()
  return (key) => {
    let made = known.get(key)
    if (made === undefined) {
      made = make(key)
      known.set(key, made)
    }
    return made
  }
}
