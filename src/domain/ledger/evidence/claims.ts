/** What every export says about itself: what it rests on, and what it does not claim. */

/** The same words in every export, so that no format seems to claim more than another. */
export const claims = [
  'It is signed with the key of this service, and its times are those of the clock of this service.',
  'Only the cosignature of a witness, if a checkpoint carries one, is the word of somebody else.',
  'Observed events are as reliable as their sources; attested ones and decisions are self-reported.',
  'It is evidence for controls. It does not show that a control is effective, and nothing is certified by it.',
] as const
