/** Settings of the embedder and the search index. */
import { folderOrAddress, oneOf, optional, setting, text, url } from './read.ts'

export const searchSettings = {
  search_url: setting(
    'search.url',
    'CSTP_SEARCH_URL',
    null,
    optional(folderOrAddress),
    'Location of the search index once it outgrows memory: a folder or `s3://bucket/prefix`; by default in the data directory.',
  ),
  embedder: setting(
    'embedder.driver',
    'CSTP_EMBEDDER',
    'local',
    oneOf('local', 'huggingface', 'openai', 'hash'),
    'Embedder, which converts text into vectors: local is the built-in model, huggingface and openai are remote, hash is for tests.',
  ),
  embedding_model: setting(
    'embedder.model',
    'CSTP_EMBEDDING_MODEL',
    null,
    optional(text),
    'Model of a remote embedder; it must return 768 dimensions.',
  ),
  embedding_url: setting(
    'embedder.url',
    'CSTP_EMBEDDING_URL',
    null,
    optional(url('http', 'https')),
    'Address of a remote embedder.',
  ),
  embedding_api_key: setting(
    'embedder.api_key',
    'CSTP_EMBEDDING_API_KEY',
    null,
    optional(text),
    'API key of a remote embedder; huggingface falls back to HF_TOKEN.',
    true,
  ),
}
