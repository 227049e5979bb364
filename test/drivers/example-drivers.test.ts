/** The drivers of the documentation conform to their ports: the tests in their folder. */
import '../../docs/examples/driver/embedder.test.ts'
import '../../docs/examples/driver/store.test.ts'
