/** The texts of the page Evidence. */
import { whole } from '../figures.ts'

export const events = {
  title: 'Events',
  type: 'Type',
  class: 'Class',
  both: 'both',
  span: (order: 'asc' | 'desc', first: number, last: number) =>
    `Events ${whole(first)} ${order === 'asc' ? 'to' : 'down to'} ${whole(last)}, ${order === 'asc' ? 'oldest' : 'newest'} first.`,
  /** The link that turns the order. */
  turned: { asc: 'Newest first', desc: 'Oldest first' },
  none: 'There are no events yet.',
  noMatch: 'No event matches.',
  heads: ['Event', 'Class', 'When', 'Source', 'Payload', 'Proof'],
  prove: 'Prove',
  proveOne: (seq: number) => `Prove event ${seq}`,
  pages: 'Pages of the events',
  next: { asc: 'Later events', desc: 'Earlier events' },
}
