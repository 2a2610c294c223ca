'use strict'
// kafkajs against a broker: `NODE_PATH=…/node_modules node driver.js BOOTSTRAP PREFIX`.
//
// One run goes through every feature and prints one JSON line for each: {feature, ok, seconds, detail}. Features share nothing
// but the broker; each has its own topics and groups under PREFIX and FEATURE_LIMIT_MS.

const assert = require('node:assert/strict')
const crypto = require('node:crypto')
const {
  Kafka, CompressionTypes, CompressionCodecs, AssignerProtocol, ConfigResourceTypes, logLevel
} = require('kafkajs')

const FEATURE_LIMIT_MS = 60000
const EPOCH_MS = 1700000000000
const CODECS = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP, snappy: CompressionTypes.Snappy, lz4: CompressionTypes.LZ4, zstd: CompressionTypes.ZSTD }
const [bootstrap, prefix] = process.argv.slice(2)
const kafka = new Kafka({ clientId: 'interop', brokers: [bootstrap], logLevel: logLevel.NOTHING, retry: { retries: 5, initialRetryTime: 50 } })
const admin = kafka.admin()
const features = {}

async function plugCodecs () {
  CompressionCodecs[CompressionTypes.Snappy] = require('kafkajs-snappy')
  const lz4 = require('lz4-napi')
  CompressionCodecs[CompressionTypes.LZ4] = () => ({
    compress: encoder => lz4.compressFrame(encoder.buffer),
    decompress: buffer => lz4.decompressFrame(buffer)
  })
  const zstd = require('@bokuweb/zstd-wasm')
  await zstd.init()
  CompressionCodecs[CompressionTypes.ZSTD] = () => ({
    compress: async encoder => Buffer.from(zstd.compress(encoder.buffer, 3)),
    decompress: async buffer => Buffer.from(zstd.decompress(buffer))
  })
}

// ---- what the features are made of

async function createTopic (name, partitions = 1, configs = {}) {
  const topic = `${prefix}-${name}`
  const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value }))
  await admin.createTopics({ topics: [{ topic, numPartitions: partitions, replicationFactor: 1, configEntries }], waitForLeaders: true })
  return topic
}

async function withProducer (settings, use) {
  const producer = kafka.producer(settings)
  await producer.connect()
  try {
    return await use(producer)
  } finally {
    await producer.disconnect()
  }
}

function messages (count, partitions = 1) {
  return Array.from({ length: count }, (_, index) => ({
    key: `key-${index}`,
    value: 'value-' + 'x'.repeat(100) + index,
    headers: { header: `of ${index}` },
    timestamp: String(EPOCH_MS + index),
    partition: index % partitions
  }))
}

async function filled (name, count, partitions = 1) {
  const topic = await createTopic(name, partitions)
  await withProducer({}, producer => producer.send({ topic, messages: messages(count, partitions) }))
  return topic
}

/** A promise of the first time that `condition` holds; whoever changes what it looks at calls `look`. */
function turning (condition) {
  let settle
  const turned = new Promise(resolve => { settle = resolve })
  return { turned, look: () => { if (condition()) settle() } }
}

/** A consumer in `group` that keeps what it gets and knows its partitions; `until(condition)` waits. */
async function member (group, topic, settings = {}) {
  const consumer = kafka.consumer({ groupId: group, heartbeatInterval: 100, sessionTimeout: 6000, maxWaitTimeInMs: 100, ...settings })
  const waiting = new Set()
  const self = {
    consumer,
    partitions: [],
    got: [],
    until: async condition => {
      const one = turning(condition)
      waiting.add(one)
      one.look()
      await one.turned
    }
  }
  const look = () => waiting.forEach(one => one.look())
  consumer.on(consumer.events.GROUP_JOIN, event => { self.partitions = event.payload.memberAssignment[topic] || []; look() })
  consumer.on(consumer.events.REBALANCING, () => { self.partitions = []; look() })
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ partition, message }) => { self.got.push({ partition, ...message }); look() }
  })
  return self
}

async function withMember (group, topic, use) {
  const one = await member(group, topic)
  try {
    return await use(one)
  } finally {
    await one.consumer.disconnect()
  }
}

const plain = message => ({
  key: String(message.key),
  value: String(message.value),
  headers: { header: String(message.headers.header) },
  timestamp: String(message.timestamp),
  partition: message.partition
})

/** The condition, asked of the broker again and again: an answer may come from before a change that the controller has made. */
async function eventually (condition) {
  while (!await condition());
}

async function refused (type, action) {
  const error = await action().then(result => new Error(`no error; result ${JSON.stringify(result)}`), error => error)
  const chain = [error, error.cause].filter(Boolean)
  const parts = chain.flatMap(one => [...(one.errors || []), ...(one.groups || one.partitions || []).map(part => part.error)])
  const types = [...chain, ...parts].map(one => one.type)
  assert.ok(types.includes(type), `expected ${type}, got ${types.join(' ')}: ${error.message}`)
  return error.message
}

const topicConfigs = async topic => {
  const { resources } = await admin.describeConfigs({ includeSynonyms: true, resources: [{ type: ConfigResourceTypes.TOPIC, name: topic }] })
  return Object.fromEntries(resources[0].configEntries.map(entry => [entry.configName, entry]))
}

const alterConfigs = (topic, configs) => admin.alterConfigs({
  validateOnly: false,
  resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries: Object.entries(configs).map(([name, value]) => ({ name, value })) }]
})

// ---- topics and producing

features['create-topic'] = async () => {
  const topic = await createTopic('create', 3, { 'retention.ms': '123456' })
  assert.ok((await admin.listTopics()).includes(topic))
  assert.equal((await topicConfigs(topic))['retention.ms'].configValue, '123456')
}

features['auto-create'] = async () => {
  const topic = `${prefix}-auto`
  await withProducer({ allowAutoTopicCreation: true }, producer => producer.send({ topic, messages: [{ value: 'first' }] }))
  assert.ok((await admin.listTopics()).includes(topic))
}

async function produce (codec, idempotent, acks = -1) {
  const topic = await createTopic(`produce-${codec}-${idempotent}-${acks}`, 2)
  const sent = messages(200, 2)
  const settings = idempotent ? { idempotent: true, maxInFlightRequests: 1 } : {}
  await withProducer(settings, async producer => {
    for (const half of [sent.slice(0, 100), sent.slice(100)]) {
      const answers = await producer.send({ topic, acks, compression: CODECS[codec], messages: half })
      if (acks !== 0) assert.deepEqual(answers.map(answer => answer.errorCode), [0, 0])
    }
  })
  await withMember(topic, topic, async reader => {
    await reader.until(() => reader.got.length >= sent.length)
    const got = reader.got.sort((left, right) => Number(left.timestamp) - Number(right.timestamp))
    assert.deepEqual(got.map(plain), sent.map(plain))
    assert.deepEqual(got.map(message => message.offset), sent.map((_, index) => String(Math.floor(index / 2))))
  })
}

for (const codec of Object.keys(CODECS)) {
  features[`produce-${codec}-plain`] = () => produce(codec, false)
  features[`produce-${codec}-idempotent`] = () => produce(codec, true)
}

features.acks = async () => {
  await produce('none', false, 0)
  await produce('none', false, 1)
}

// ---- groups

features['group-rebalance'] = async () => {
  const topic = await createTopic('rebalance', 4)
  await withMember(topic, topic, async first => {
    await first.until(() => first.partitions.length === 4)
    await withMember(topic, topic, async second => {
      await Promise.all([first.until(() => first.partitions.length === 2), second.until(() => second.partitions.length === 2)])
      assert.deepEqual([...first.partitions, ...second.partitions].sort(), [0, 1, 2, 3])
    })
    await first.until(() => first.partitions.length === 4)
    await withProducer({}, producer => producer.send({ topic, messages: messages(40, 4) }))
    await first.until(() => first.got.length >= 40)
    assert.equal(new Set(first.got.map(message => String(message.key))).size, 40)
  })
}

features['group-resume'] = async () => {
  const topic = await filled('resume', 20)
  await withMember(topic, topic, async first => {
    await first.until(() => first.got.length === 20)
    await first.consumer.commitOffsets([{ topic, partition: 0, offset: '8', metadata: 'noted' }])
  })
  const [stored] = await admin.fetchOffsets({ groupId: topic, topics: [topic] })
  assert.deepEqual(stored.partitions, [{ partition: 0, offset: '8', metadata: 'noted' }])
  await withMember(topic, topic, async second => {
    await second.until(() => second.got.length === 12)
    assert.equal(second.got[0].offset, '8')
  })
  await admin.setOffsets({ groupId: topic, topic, partitions: [{ partition: 0, offset: '3' }] })
  await withMember(topic, topic, async third => {
    await third.until(() => third.got.length > 0)
    assert.equal(third.got[0].offset, '3')
  })
}

// ---- administration

features['describe-cluster'] = async () => {
  const cluster = await admin.describeCluster()
  assert.equal(cluster.clusterId.length, 22)
  assert.ok(cluster.brokers.some(broker => broker.nodeId === cluster.controller), JSON.stringify(cluster))
}

features['describe-topics'] = async () => {
  const topic = await createTopic('describe', 3)
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
  assert.equal(topics[0].partitions.length, 3)
  for (const partition of topics[0].partitions) {
    assert.deepEqual([partition.replicas, partition.isr, partition.partitionErrorCode], [[partition.leader], [partition.leader], 0])
  }
}

features['describe-configs'] = async () => {
  const configs = await topicConfigs(await createTopic('configs', 1, { 'cleanup.policy': 'compact' }))
  assert.equal(configs['cleanup.policy'].configValue, 'compact')
  assert.equal(configs['cleanup.policy'].isDefault, false)
  assert.equal(configs['max.message.bytes'].configValue, '1048588')
  assert.ok(configs['max.message.bytes'].configSynonyms.some(synonym => synonym.configName === 'message.max.bytes'))
}

features['alter-configs'] = async () => {
  const topic = await createTopic('alter', 1, { 'retention.ms': '60000' })
  await alterConfigs(topic, { 'max.message.bytes': '1000' })
  await eventually(async () => (await topicConfigs(topic))['max.message.bytes'].configValue === '1000')
  const configs = await topicConfigs(topic)
  assert.notEqual(configs['retention.ms'].configValue, '60000', 'AlterConfigs replaces the whole set')
  await refused('MESSAGE_TOO_LARGE', () => withProducer({}, producer => producer.send({ topic, messages: [{ value: 'x'.repeat(2000) }] })))
}

features['create-partitions'] = async () => {
  const topic = await createTopic('partitions')
  await admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] })
  await eventually(async () => (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0].partitions.length === 3)
}

features['delete-records'] = async () => {
  const topic = await filled('delete-records', 10)
  await admin.fetchTopicOffsets(topic) // kafkajs deletes records only of topics whose metadata it already has
  await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '6' }] })
  assert.deepEqual(await admin.fetchTopicOffsets(topic), [{ partition: 0, offset: '10', low: '6', high: '10' }])
}

features['offsets-ends'] = async () => {
  assert.deepEqual(await admin.fetchTopicOffsets(await filled('ends', 10)), [{ partition: 0, offset: '10', low: '0', high: '10' }])
}

features['offsets-timestamp'] = async () => {
  const topic = await filled('timestamp', 10)
  assert.deepEqual(await admin.fetchTopicOffsetsByTimestamp(topic, EPOCH_MS + 4), [{ partition: 0, offset: '4' }])
}

const isListed = async group => (await admin.listGroups()).groups.some(one => one.groupId === group && one.protocolType === 'consumer')

features['list-groups'] = async () => {
  const group = await createTopic('list-groups')
  assert.equal(await isListed(group), false)
  await withMember(group, group, async () => assert.equal(await isListed(group), true))
}

features['describe-groups'] = async () => {
  const topic = await createTopic('describe-groups', 2)
  const described = async () => (await admin.describeGroups([topic])).groups[0]
  await withMember(topic, topic, async one => {
    await one.until(() => one.partitions.length === 2)
    const { state, members, protocol } = await described()
    assert.deepEqual([state, members.length, protocol, members[0].clientId], ['Stable', 1, 'RoundRobinAssigner', 'interop'])
    assert.deepEqual(AssignerProtocol.MemberAssignment.decode(members[0].memberAssignment).assignment, { [topic]: [0, 1] })
  })
  assert.deepEqual((await described()).members, [])
}

features['delete-groups'] = async () => {
  const group = await filled('delete-groups', 1)
  await withMember(group, group, async one => {
    await one.until(() => one.got.length === 1)
    await one.consumer.commitOffsets([{ topic: group, partition: 0, offset: '1' }])
  })
  await admin.deleteGroups([group])
  assert.equal(await isListed(group), false)
}

features['delete-topic'] = async () => {
  const topic = await createTopic('delete')
  await admin.deleteTopics({ topics: [topic] })
  await eventually(async () => !(await admin.listTopics()).includes(topic))
  await createTopic('delete') // the name is free again
}

// ---- what a broker must refuse, by the error that the client makes of it

const refusal = (name, type, attempt) => {
  features[name] = async () => {
    const topic = await createTopic(name, 2)
    return refused(type, () => attempt(topic))
  }
}
refusal('refuse-unknown-topic', 'UNKNOWN_TOPIC_OR_PARTITION', () => admin.deleteTopics({ topics: [`${prefix}-nowhere`] }))
refusal('refuse-topic-name', 'INVALID_TOPIC_EXCEPTION', () => admin.createTopics({ topics: [{ topic: 'not a name' }] }))
refusal('refuse-config-value', 'INVALID_CONFIG', topic => alterConfigs(topic, { 'retention.ms': 'soon' }))
refusal('refuse-config-key', 'INVALID_CONFIG', topic => alterConfigs(topic, { 'no.such.key': '1' }))
refusal('refuse-partitions', 'INVALID_PARTITIONS', topic => admin.createPartitions({ topicPartitions: [{ topic, count: 1 }] }))
refusal('refuse-replication-factor', 'INVALID_REPLICATION_FACTOR', () => admin.createTopics({ topics: [{ topic: `${prefix}-nine`, replicationFactor: 9 }] }))
refusal('refuse-unknown-group', 'GROUP_ID_NOT_FOUND', () => admin.deleteGroups([`${prefix}-nowhere`]))
refusal('refuse-busy-group', 'NON_EMPTY_GROUP', topic => withMember(topic, topic, async one => {
  await one.until(() => one.partitions.length === 2)
  return admin.deleteGroups([topic])
}))
refusal('refuse-large-message', 'MESSAGE_TOO_LARGE', topic => withProducer({}, producer => producer.send({ topic, messages: [{ value: crypto.randomBytes(2000000) }] })))

refusal('refuse-offset', 'OFFSET_OUT_OF_RANGE', async topic => {
  await admin.fetchTopicOffsets(topic)
  return admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '99' }] })
})

features['refuse-existing-topic'] = async () => {
  const topic = await createTopic('refuse-existing')
  assert.equal(await admin.createTopics({ topics: [{ topic }] }), false) // what kafkajs makes of TOPIC_ALREADY_EXISTS
}

features.transactions = async () => {
  const topic = await createTopic('transactions')
  const settings = { transactionalId: topic, idempotent: true, maxInFlightRequests: 1, retry: { retries: 1 } }
  await withProducer(settings, async producer => {
    for (const end of ['commit', 'abort', 'commit']) {
      const transaction = await producer.transaction()
      await transaction.send({ topic, messages: [{ value: end }] })
      await transaction[end]()
    }
  })
  await withMember(topic, topic, async one => {
    await one.until(() => one.got.length >= 2)
    assert.deepEqual(one.got.map(message => String(message.value)), ['commit', 'commit'])
  })
  return 'committed and aborted'
}

/** Every second transaction is aborted; its records are copied again, by the next member of the group. */
features['consume-transform-produce'] = async () => {
  const source = await filled('source', 20)
  const target = await createTopic('target')
  const settings = { transactionalId: source, idempotent: true, maxInFlightRequests: 1 }
  await withProducer(settings, async producer => {
    for (let copied = 0, number = 0; copied < 20; number++) {
      const batch = await withMember(source, source, async one => {
        await one.until(() => one.got.length > 0)
        return one.got.slice(0, 5)
      })
      assert.equal(Number(batch[0].offset), copied, 'the group goes on at the last committed transaction')
      const transaction = await producer.transaction()
      await transaction.send({ topic: target, messages: batch.map(({ value }) => ({ value })) })
      const offset = String(Number(batch.at(-1).offset) + 1)
      await transaction.sendOffsets({ consumerGroupId: source, topics: [{ topic: source, partitions: [{ partition: 0, offset }] }] })
      if (number % 2 === 0) {
        await transaction.abort()
      } else {
        await transaction.commit()
        copied = Number(offset)
      }
    }
  })
  await withMember(target, target, async one => {
    await one.until(() => one.got.length >= 20)
    assert.deepEqual(one.got.map(message => String(message.value)), messages(20).map(message => message.value))
  })
}

// ---- the run

async function limited (run) {
  let timer
  const limit = new Promise((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`still running after ${FEATURE_LIMIT_MS} ms`)), FEATURE_LIMIT_MS)
  })
  try {
    return await Promise.race([run(), limit])
  } finally {
    clearTimeout(timer)
  }
}

async function main () {
  await plugCodecs()
  await admin.connect()
  for (const [feature, run] of Object.entries(features)) {
    const start = performance.now()
    const outcome = await limited(run).then(
      detail => ({ ok: true, detail: detail || '' }),
      error => ({ ok: false, detail: `${error.stack}${error.cause ? `\nbecause ${error.cause.stack}` : ''}` })
    )
    console.log(JSON.stringify({ feature, seconds: (performance.now() - start) / 1000, ...outcome }))
  }
  process.exit(0) // a feature that hangs has had its line; it must not keep the process
}

main().catch(error => {
  console.error(error)
  process.exit(1)
})
