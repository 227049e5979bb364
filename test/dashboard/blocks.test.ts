/** A block shows what its caller gave: the fields that the service fills in are left out, all of them. */
import { expect, test } from 'bun:test'
import { actionFields } from '../../sdk/schema/action.ts'
import { ActionParams } from '../../sdk/schema/policy.ts'
import { block } from '../../src/dashboard/texts/policy.ts'

test('what is left out of the inputs of a block is what no caller can give', () => {
  const filledIn = Object.keys(actionFields).filter((name) => !Object.hasOwn(ActionParams.entries, name))
  expect(block.own.toSorted()).toEqual(filledIn.toSorted())
})
