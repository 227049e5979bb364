/** Reads and writes the numbered combinations that decisions are counted by. */
import { scoredValue } from '../../../../sdk/storage/fields.ts'
import type { DecisionFields } from '../../../../sdk/storage/store.ts'
import type { Group, Kinds, Place } from '../counts/kinds.ts'
import type { Statements } from './connect.ts'

type PlaceRow = Place & { number: number }
type GroupRow = Omit<Group, 'value' | 'preserve'> & { number: number; preserve: number }

/** Reads combinations newer than the known ones; returns the same object if there are none. */
export function kindsReader({ prepare }: Statements): (known: Kinds) => Kinds {
  const newPlaces = prepare<PlaceRow, [number]>(
    'select number, agent, category, stakes from places where number >= ? order by number',
  )
  const newGroups = prepare<GroupRow, [number]>(
    `select number, status, outcome, settled_by, confidence_at_record as confidence, preserve from outcome_groups
     where number >= ? order by number`,
  )
  return (known) => {
    const places = newPlaces.all(known.places.length)
    const groups = newGroups.all(known.groups.length)
    if (places.length === 0 && groups.length === 0) return known
    const [allPlaces, allGroups] = [[...known.places], [...known.groups]]
    for (const { number, ...place } of places) allPlaces[number] = place
    for (const { number, preserve, ...group } of groups)
      allGroups[number] = { ...group, preserve: preserve === 1, value: scoredValue(group) }
    return { places: allPlaces, groups: allGroups }
  }
}

/** The fields that a decision is counted by. */
type Kind = Pick<
  DecisionFields,
  'agent' | 'category' | 'stakes' | 'confidence_at_record' | 'outcome' | 'settled_by' | 'status' | 'preserve'
>

/** Returns the numbers of a decision's combinations, and adds new combinations. */
export function kindsWriter({ prepare }: Statements): (fields: Kind) => { place: number; group: number } {
  type Numbered = { number: number }
  const findPlace = prepare<Numbered>('select number from places where agent = ? and category is ? and stakes = ?')
  // Numbers start at 0, so that they can index arrays.
  const next = (table: string) => `(select coalesce(max(number) + 1, 0) from ${table})`
  const addPlace = prepare<Numbered>(
    `insert into places (number, agent, category, stakes) values (${next('places')}, ?, ?, ?) returning number`,
  )
  const findGroup = prepare<Numbered>(
    `select number from outcome_groups where confidence_at_record is ? and outcome is ? and settled_by is ?
     and status = ? and preserve = ?`,
  )
  const addGroup = prepare<Numbered>(
    `insert into outcome_groups (number, confidence_at_record, outcome, settled_by, status, preserve)
     values (${next('outcome_groups')}, ?, ?, ?, ?, ?) returning number`,
  )
  return ({ agent, category, stakes, confidence_at_record, outcome, settled_by, status, preserve }) => {
    const place = [agent, category, stakes]
    const group = [confidence_at_record, outcome, settled_by, status, preserve ? 1 : 0]
    return {
      place: (findPlace.get(...place) ?? addPlace.get(...place)!).number,
      group: (findGroup.get(...group) ?? addGroup.get(...group)!).number,
    }
  }
}
