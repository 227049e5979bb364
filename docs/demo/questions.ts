/** Ten questions for each set of decisions; no decision answers the last one. */

export const shopQuestions = [
  'Where should the basket live?',
  'What do we do when the payment provider does not answer?',
  'How do we send e-mails without slowing the order down?',
  'May we cache prices?',
  'Should we split the application into microservices?',
  'At which moment is an item taken out of stock?',
  'What may wake people at night?',
  'Which type for amounts of money?',
  'Where can a change be looked at before it goes live?',
  'How is the coffee machine descaled?',
]

export const pepQuestions = [
  'Should the language get a switch statement?',
  'A dictionary that cannot be changed after it was made',
  'How can threads run on several processors at once?',
  'Reach an attribute safely when the object may be missing',
  'Protect hash tables from attackers who choose the keys',
  'Always run the cleanup, however a block is left',
  'Fill values into SQL or HTML without injection',
  'Walk through huge folders faster',
  'How does a package describe itself to tools?',
  'How is the coffee machine descaled?',
]
