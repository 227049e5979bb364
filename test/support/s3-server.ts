/** An object store with as much of S3 as LanceDB uses, conditional writes included, in memory: for tests. */

interface Stored {
  bytes: Uint8Array<ArrayBuffer>
  etag: string
}

/** Serves one bucket on a free port; `requests` counts by method. */
export function serveS3() {
  const objects = new Map<string, Stored>()
  const uploads = new Map<string, Map<number, Uint8Array<ArrayBuffer>>>()
  const requests: Record<string, number> = {}
  let counter = 0

  const xml = (body: string, status = 200) =>
    new Response(`<?xml version="1.0" encoding="UTF-8"?>${body}`, {
      status,
      headers: { 'content-type': 'application/xml' },
    })
  const fault = (status: number, code: string) =>
    xml(`<Error><Code>${code}</Code><Message>${code}</Message></Error>`, status)

  function put(key: string, bytes: Uint8Array<ArrayBuffer>, headers: Headers): Response | null {
    const held = objects.get(key)
    if (headers.get('if-none-match') === '*' && held) return fault(412, 'PreconditionFailed')
    const expected = headers.get('if-match')
    if (expected && expected !== held?.etag) return fault(412, 'PreconditionFailed')
    objects.set(key, { bytes, etag: `"${(counter++).toString(16)}"` })
    return null
  }

  function list(query: URLSearchParams): Response {
    const [prefix, delimiter] = [query.get('prefix') ?? '', query.get('delimiter')]
    const after = query.get('continuation-token') ?? query.get('start-after') ?? ''
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort()
    const most = Number(query.get('max-keys') ?? 1000)
    const [contents, folders] = [[] as string[], new Set<string>()]
    for (const key of keys.slice(0, most)) {
      const end = delimiter ? key.indexOf(delimiter, prefix.length) : -1
      if (end >= 0) folders.add(key.slice(0, end + 1))
      else contents.push(key)
    }
    const entries = contents.map((key) => {
      const { bytes, etag } = objects.get(key)!
      return `<Contents><Key>${key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>${etag}</ETag><Size>${bytes.length}</Size></Contents>`
    })
    const more = keys.length > most ? `<NextContinuationToken>${keys[most - 1]}</NextContinuationToken>` : ''
    const prefixes = [...folders].map((folder) => `<CommonPrefixes><Prefix>${folder}</Prefix></CommonPrefixes>`)
    return xml(
      `<ListBucketResult><Name>b</Name><Prefix>${prefix}</Prefix><KeyCount>${contents.length}</KeyCount><MaxKeys>${most}</MaxKeys><IsTruncated>${more !== ''}</IsTruncated>${more}${entries.join('')}${prefixes.join('')}</ListBucketResult>`,
    )
  }

  function get(key: string, headers: Headers, method: string): Response {
    const held = objects.get(key)
    if (!held) return method === 'HEAD' ? new Response(null, { status: 404 }) : fault(404, 'NoSuchKey')
    const { bytes, etag } = held
    const common = { etag, 'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT', 'accept-ranges': 'bytes' }
    if (method === 'HEAD') return new Response(null, { headers: { ...common, 'content-length': String(bytes.length) } })
    const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(headers.get('range') ?? '') ?? []
    if (first === undefined) return new Response(bytes, { headers: common })
    const start = first === '' ? Math.max(0, bytes.length - Number(last)) : Number(first)
    const end = first === '' || last === '' ? bytes.length : Math.min(bytes.length, Number(last) + 1)
    return new Response(bytes.slice(start, end), {
      status: 206,
      headers: { ...common, 'content-range': `bytes ${start}-${end - 1}/${bytes.length}` },
    })
  }

  async function multipart(key: string, query: URLSearchParams, request: Request): Promise<Response> {
    const id = query.get('uploadId')
    if (id === null) {
      const made = `upload-${counter++}`
      uploads.set(made, new Map())
      return xml(
        `<InitiateMultipartUploadResult><Bucket>b</Bucket><Key>${key}</Key><UploadId>${made}</UploadId></InitiateMultipartUploadResult>`,
      )
    }
    const parts = uploads.get(id)
    if (!parts) return fault(404, 'NoSuchUpload')
    if (request.method === 'PUT') {
      const part = Number(query.get('partNumber'))
      parts.set(part, await request.bytes())
      return new Response(null, { headers: { etag: `"${id}-${part}"` } })
    }
    uploads.delete(id)
    if (request.method === 'DELETE') return new Response(null, { status: 204 })
    const joined = new Uint8Array(Buffer.concat([...parts].sort(([a], [b]) => a - b).map(([, bytes]) => bytes)))
    const refused = put(key, joined, request.headers)
    return (
      refused ??
      xml(
        `<CompleteMultipartUploadResult><Key>${key}</Key><ETag>${objects.get(key)!.etag}</ETag></CompleteMultipartUploadResult>`,
      )
    )
  }

  let trouble: { status: number; code: string } | null = null
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname, searchParams: query } = new URL(request.url)
      const key = decodeURIComponent(pathname.split('/').slice(2).join('/'))
      const { method, headers } = request
      requests[method] = (requests[method] ?? 0) + 1
      if (trouble !== null) return fault(trouble.status, trouble.code)
      if (query.has('uploads') || query.has('uploadId')) return multipart(key, query, request)
      if (method === 'POST' && query.has('delete')) {
        const names = [...(await request.text()).matchAll(/<Key>(.*?)<\/Key>/g)].map(([, name]) => name!)
        for (const name of names) objects.delete(name)
        return xml(
          `<DeleteResult>${names.map((name) => `<Deleted><Key>${name}</Key></Deleted>`).join('')}</DeleteResult>`,
        )
      }
      if (method === 'PUT')
        return (
          put(key, await request.bytes(), headers) ?? new Response(null, { headers: { etag: objects.get(key)!.etag } })
        )
      if (method === 'DELETE') {
        objects.delete(key)
        return new Response(null, { status: 204 })
      }
      return key === '' || query.has('list-type') ? list(query) : get(key, headers, method)
    },
  })
  return {
    requests,
    keys: () => [...objects.keys()],
    /** Names of objects that hold a text. */
    holding: (text: string) =>
      [...objects].flatMap(([key, { bytes }]) => (Buffer.from(bytes).includes(text) ? [key] : [])),
    /** Every request is refused so, until it is called with null. */
    fail: (with_: typeof trouble) => {
      trouble = with_
    },
    storage_options: {
      endpoint: `http://127.0.0.1:${server.port}`,
      region: 'us-east-1',
      access_key_id: 'test',
      secret_access_key: 'test-secret',
      allow_http: 'true',
    },
    close: () => server.stop(true),
  }
}
