/** The OpenRPC document: valid, whole, answered by the server, and with examples that hold. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import jsonSchemaMeta from '@json-schema-tools/meta-schema'
import metaSchema from '@open-rpc/meta-schema'
import Ajv from 'ajv'
import * as v from 'valibot'
import type { CstpError } from '../../sdk/errors.ts'
import { discover } from '../../src/calls/dispatch.ts'
import { examples, openRpc } from '../../src/calls/openrpc.ts'
import type { JsonText } from '../../src/calls/page.ts'
import { methods } from '../../src/methods/table.ts'
import { callers, openMemoryProgram, type TestProgram } from '../support/program.ts'

interface Document {
  openrpc: string
  methods: {
    name: string
    params: { name: string; required: boolean; description?: string; schema: object }[]
    result: { schema: object }
    errors: { $ref: string }[]
    examples?: { params: { name: string; value: unknown }[]; result: { value: unknown } }[]
  }[]
  components: { schemas: Record<string, object>; errors: Record<string, object> }
}
const document = JSON.parse(JSON.stringify(openRpc(methods))) as Document

let program: TestProgram
beforeAll(async () => {
  program = await openMemoryProgram()
})
afterAll(() => program.close())
const ask = (method: string, params: unknown = {}, as: keyof typeof callers = 'reader', prints = false) =>
  program.dispatch({
    method,
    params,
    caller: callers[as],
    request_id: 'r1',
    signal: new AbortController().signal,
    prints,
  })

test('is valid against the meta-schema of OpenRPC', () => {
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true })
  // Both name as their own meta-schema what ajv does not know.
  const bare = ({ $schema, ...schema }: Record<string, unknown>) => schema
  // It is referred to with and without the slash at the end of its address.
  for (const slash of ['', '/'])
    ajv.addSchema({ ...bare(jsonSchemaMeta as never), $id: `https://meta.json-schema.tools${slash}` })
  const validate = ajv.compile(bare(metaSchema as never))
  expect(validate(document) ? [] : validate.errors).toEqual([])
  expect(validate({ ...document, methods: [{ name: 'x', params: {} }] })).toBe(false)
})

test('lists every method with every parameter, and itself nowhere', () => {
  expect(document.methods.map(({ name }) => name)).toEqual([...methods.keys()])
  for (const { name, params } of document.methods) {
    const declared = methods.get(name)!.params
    expect([name, ...params.map((one) => one.name)]).toEqual([name, ...Object.keys(declared.entries)])
    const missing = v.safeParse(declared, {}).issues?.map(({ path }) => path?.[0]?.key as string) ?? []
    expect([name, params.filter(({ required }) => required).map((one) => one.name)]).toEqual([name, missing])
    for (const { description } of params) expect(description).toMatch(/\S/)
  }
})

test('every reference leads somewhere', () => {
  const found = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(schemas|errors)\/([^"]+)"/g)]
  expect(found.length).toBeGreaterThan(100)
  for (const [, part, name] of found) expect(Object.keys(document.components[part as 'schemas'])).toContain(name!)
})

test('its schemas take what the service takes and sends', () => {
  const ajv = new Ajv({ strict: false, allErrors: true })
  ajv.addSchema({ $id: 'doc', ...document })
  const rooted = (schema: object): object => JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"doc#/'))
  for (const [name, one] of Object.entries(examples)) {
    const described = document.methods.find((method) => method.name === `cstp.${name}`)!
    const method = methods.get(`cstp.${name}`)!
    expect([name, v.safeParse(method.params, one.params).issues]).toEqual([name, undefined])
    expect([name, v.safeParse(method.result, one.result).issues]).toEqual([name, undefined])
    for (const param of described.params) {
      const validate = ajv.compile(rooted(param.schema))
      if (Object.hasOwn(one.params, param.name))
        expect([name, param.name, validate(one.params[param.name]) ? null : validate.errors]).toEqual([
          name,
          param.name,
          null,
        ])
    }
    const validate = ajv.compile(rooted(described.result.schema))
    expect([name, validate(one.result) ? null : validate.errors]).toEqual([name, null])
    expect([name, validate({})]).toEqual([name, false])
    expect(described.examples?.[0]?.params.length).toBe(Object.keys(one.params).length)
  }
})

test('is what rpc.discover answers, to anyone who may read', async () => {
  expect(await ask(discover)).toEqual(document)
  expect(((await ask(discover, {}, 'reader', true)) as JsonText).value()).toEqual(document)
  const refused = (given: Promise<unknown>) =>
    given.then(
      () => null,
      (error: CstpError) => error,
    )
  expect(await refused(ask(discover, {}, 'writer'))).toMatchObject({ error: 'forbidden', data: { scope: 'read' } })
  expect(await refused(ask(discover, { x: 1 }))).toMatchObject({ error: 'invalid_params' })
  const unknown = await refused(ask('rpc.discovr'))
  expect(unknown).toMatchObject({ error: 'method_not_found', data: { available: [...methods.keys()] } })
})
