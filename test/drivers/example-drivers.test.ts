/** The drivers of the documentation keep their ports: the tests that stand beside them. */
import '../../docs/examples/driver/embedder.test.ts'
import '../../docs/examples/driver/store.test.ts'
