/** One field of all decisions by slot, as small numbers: a hundred thousand are compared in a fraction of a millisecond. */

/** The same with room for `slot`. */
export function withRoom<A extends Int32Array | Float64Array | Uint8Array>(values: A, slot: number): A {
  if (slot < values.length) return values
  const grown = new (values.constructor as new (length: number) => A)(2 * Math.max(slot, values.length))
  grown.set(values)
  return grown
}

/** Values with their numbers, and the number of each slot; −1 for null. */
export function column<V extends string | number>() {
  const numbers = new Map<V, number>()
  const values: V[] = []
  let codes = new Int32Array(1_024)
  const number = (value: V): number => {
    const known = numbers.get(value)
    if (known !== undefined) return known
    numbers.set(value, values.length)
    return values.push(value) - 1
  }
  return {
    values,
    codes: () => codes,
    number,
    /** −2 for a value that no decision ever had: it is not that of null. */
    known: (value: V): number => numbers.get(value) ?? -2,
    set(slot: number, value: V | null) {
      codes = withRoom(codes, slot)
      codes[slot] = value === null ? -1 : number(value)
    },
  }
}

/** Numbers by slot, as they are. */
export function numberColumn() {
  let numbers = new Float64Array(1_024)
  return {
    numbers: () => numbers,
    set(slot: number, value: number) {
      numbers = withRoom(numbers, slot)
      numbers[slot] = value
    },
  }
}
