/** The texts of the overview. */

export const outcomes = {
  span: (from: string, to: string) => `${from} to ${to}`,
  changed: 'Rules changed',
}
