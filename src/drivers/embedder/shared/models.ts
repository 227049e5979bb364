/** What is known about models that remote embedders serve. */

export interface ModelTraits {
  /** Written before a question. */
  query_prefix: string
  /** Written before everything else. */
  document_prefix: string
  noise_distance: number
  /** The model has a longer vector by default and must be asked for 768. */
  ask_for_length: boolean
}

const plain: ModelTraits = {
  query_prefix: '',
  document_prefix: '',
  // Errs on the side of showing a hit. Models differ: state `noise_distance` for one that is not listed below.
  noise_distance: 0.75,
  ask_for_length: false,
}

/** Found by a part of the name, which has another owner or tag with every server. The distances are estimates. */
const known: [part: string, traits: Partial<ModelTraits>][] = [
  ['bge-base-en', { query_prefix: 'Represent this sentence for searching relevant passages: ', noise_distance: 0.5 }],
  ['all-mpnet-base', { noise_distance: 0.75 }],
  ['nomic-embed-text', { query_prefix: 'search_query: ', document_prefix: 'search_document: ', noise_distance: 0.5 }],
  ['text-embedding-3', { noise_distance: 0.8, ask_for_length: true }],
]

export function traitsOf(model: string): ModelTraits {
  const name = model.toLowerCase()
  return { ...plain, ...known.find(([part]) => name.includes(part))?.[1] }
}
