// franz-go against a broker: `driver BOOTSTRAP PREFIX`.
//
// One run goes through every feature and prints one JSON line for each: {feature, ok, seconds, detail}. Features share nothing
// but the broker; each has its own topics and groups under PREFIX and featureLimit.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	featureLimit = 60 * time.Second
	epochMs      = 1700000000000
)

var (
	bootstrap, prefix = os.Args[1], os.Args[2]
	admin             *kadm.Client
	codecs            = []struct {
		name  string
		codec kgo.CompressionCodec
	}{
		{"none", kgo.NoCompression()},
		{"gzip", kgo.GzipCompression()},
		{"snappy", kgo.SnappyCompression()},
		{"lz4", kgo.Lz4Compression()},
		{"zstd", kgo.ZstdCompression()},
	}
)

type feature struct {
	name string
	run  func(ctx context.Context)
}

// ---- what the features are made of

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func got[T any](value T, err error) T {
	must(err)
	return value
}

func check(held bool, format string, values ...any) {
	if !held {
		panic(fmt.Errorf(format, values...))
	}
}

func equal[T any](expected, actual T) {
	check(fmt.Sprint(expected) == fmt.Sprint(actual), "expected %v, got %v", expected, actual)
}

func refused(expected error, err error) {
	check(errors.Is(err, expected), "expected %v, got %v", expected, err)
}

// eventually asks the broker again and again: an answer may come from before a change that the controller has made.
func eventually(ctx context.Context, condition func() bool) {
	for !condition() {
		must(ctx.Err())
	}
}

func client(options ...kgo.Opt) *kgo.Client {
	settings := []kgo.Opt{
		kgo.SeedBrokers(bootstrap), kgo.ClientID("interop"), kgo.MetadataMinAge(50 * time.Millisecond),
		kgo.FetchMaxWait(100 * time.Millisecond), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerLinger(0),
	}
	return got(kgo.NewClient(append(settings, options...)...))
}

func createTopic(ctx context.Context, name string, partitions int32, configs map[string]*string) string {
	topic := prefix + "-" + name
	got(admin.CreateTopic(ctx, partitions, 1, configs, topic))
	return topic
}

func record(topic string, partition int32, index int) *kgo.Record {
	return &kgo.Record{
		Topic: topic, Partition: partition, Key: fmt.Appendf(nil, "key-%d", index),
		Value:     append(bytes.Repeat([]byte("x"), 100), fmt.Sprint(index)...),
		Headers:   []kgo.RecordHeader{{Key: "header", Value: fmt.Appendf(nil, "of %d", index)}},
		Timestamp: time.UnixMilli(int64(epochMs + index)),
	}
}

func fill(ctx context.Context, topic string, partitions int32, count int, options ...kgo.Opt) []*kgo.Record {
	cl := client(options...)
	defer cl.Close()
	var sent []*kgo.Record
	for index := range count {
		sent = append(sent, record(topic, int32(index)%partitions, index))
	}
	must(cl.ProduceSync(ctx, sent...).FirstErr())
	return sent
}

func filled(ctx context.Context, name string, count int) string {
	topic := createTopic(ctx, name, 1, nil)
	fill(ctx, topic, 1, count)
	return topic
}

func read(ctx context.Context, cl *kgo.Client, count int) []*kgo.Record {
	var records []*kgo.Record
	for len(records) < count {
		fetches := cl.PollFetches(ctx)
		must(fetches.Err0())
		fetches.EachError(func(topic string, partition int32, err error) { panic(err) })
		records = append(records, fetches.Records()...)
	}
	return records
}

func fromStart(topic string, partitions int32) kgo.Opt {
	offsets := map[int32]kgo.Offset{}
	for partition := range partitions {
		offsets[partition] = kgo.NewOffset().AtStart()
	}
	return kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: offsets})
}

// member is a consumer in a group that knows its partitions, and polls in the background.
type member struct {
	*kgo.Client
	lock       sync.Mutex
	partitions map[int32]bool
	records    []*kgo.Record
	stop       context.CancelFunc
	stopped    chan struct{}
}

func join(ctx context.Context, group, topic string, options ...kgo.Opt) *member {
	one := &member{partitions: map[int32]bool{}, stopped: make(chan struct{})}
	change := func(held bool) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, changed map[string][]int32) {
			one.lock.Lock()
			defer one.lock.Unlock()
			for _, partition := range changed[topic] {
				if held {
					one.partitions[partition] = true
				} else {
					delete(one.partitions, partition)
				}
			}
		}
	}
	settings := []kgo.Opt{
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.HeartbeatInterval(100 * time.Millisecond), kgo.SessionTimeout(6 * time.Second),
		kgo.OnPartitionsAssigned(change(true)), kgo.OnPartitionsRevoked(change(false)), kgo.OnPartitionsLost(change(false)),
	}
	one.Client = client(append(settings, options...)...)
	polling, stop := context.WithCancel(ctx)
	one.stop = stop
	go func() {
		defer close(one.stopped)
		for polling.Err() == nil {
			fetched := one.PollFetches(polling).Records()
			one.lock.Lock()
			one.records = append(one.records, fetched...)
			one.lock.Unlock()
		}
	}()
	return one
}

// leave ends the member. A static one stays in the group, in the eyes of the coordinator.
func (one *member) leave() {
	one.stop()
	<-one.stopped
	one.Close()
}

func (one *member) held() []int32 {
	one.lock.Lock()
	defer one.lock.Unlock()
	var held []int32
	for partition := range one.partitions {
		held = append(held, partition)
	}
	slices.Sort(held)
	return held
}

func (one *member) read() []*kgo.Record {
	one.lock.Lock()
	defer one.lock.Unlock()
	return slices.Clone(one.records)
}

func text(value string) *string { return &value }

// ---- topics and producing

func createOne(ctx context.Context) {
	topic := prefix + "-create"
	got(admin.ValidateCreateTopics(ctx, 3, 1, nil, topic))
	check(!got(admin.ListTopics(ctx, topic)).Has(topic), "validate-only created the topic")
	created := got(admin.CreateTopic(ctx, 3, 1, map[string]*string{"retention.ms": text("123456")}, topic))
	check(created.ID != kadm.TopicID{}, "no topic id")
	equal("123456", *created.Configs["retention.ms"].Value)
	eventually(ctx, func() bool { return len(got(admin.ListTopics(ctx, topic))[topic].Partitions) == 3 })
}

func autoCreate(ctx context.Context) {
	cl := client(kgo.AllowAutoTopicCreation())
	defer cl.Close()
	topic := prefix + "-auto"
	must(cl.ProduceSync(ctx, record(topic, 0, 0)).FirstErr())
	check(got(admin.ListTopics(ctx, topic)).Has(topic), "not listed")
}

func produce(ctx context.Context, name string, options ...kgo.Opt) {
	topic := createTopic(ctx, "produce-"+name, 2, nil)
	const count = 200
	fill(ctx, topic, 2, count, options...)
	cl := client(fromStart(topic, 2))
	defer cl.Close()
	records := read(ctx, cl, count)
	slices.SortFunc(records, func(a, b *kgo.Record) int { return a.Timestamp.Compare(b.Timestamp) })
	for index, actual := range records {
		sent := record(topic, int32(index%2), index)
		equal(string(sent.Key), string(actual.Key))
		equal(string(sent.Value), string(actual.Value))
		equal(sent.Headers, actual.Headers)
		equal(sent.Timestamp.UnixMilli(), actual.Timestamp.UnixMilli())
		equal(int64(index/2), actual.Offset)
	}
}

func acks(ctx context.Context) {
	produce(ctx, "acks-0", kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite())
	produce(ctx, "acks-1", kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
}

// ---- exactly once

func transactions(ctx context.Context) {
	topic := createTopic(ctx, "transactions", 1, nil)
	cl := client(kgo.TransactionalID(topic))
	defer cl.Close()
	for number := range 4 {
		must(cl.BeginTransaction())
		must(cl.ProduceSync(ctx, record(topic, 0, number)).FirstErr())
		must(cl.EndTransaction(ctx, kgo.TransactionEndTry(number%2 == 0)))
	}
	reader := client(fromStart(topic, 1), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	defer reader.Close()
	equal("[key-0 key-2]", fmt.Sprint(keys(read(ctx, reader, 2))))
	// The next producer with the id aborts the open transaction and fences this one.
	must(cl.BeginTransaction())
	must(cl.ProduceSync(ctx, record(topic, 0, 4)).FirstErr())
	next := client(kgo.TransactionalID(topic))
	defer next.Close()
	must(next.BeginTransaction())
	must(next.ProduceSync(ctx, record(topic, 0, 5)).FirstErr())
	must(next.EndTransaction(ctx, kgo.TryCommit))
	check(cl.EndTransaction(ctx, kgo.TryCommit) != nil, "a fenced producer committed")
	equal("[key-5]", fmt.Sprint(keys(read(ctx, reader, 1))))
}

func keys(records []*kgo.Record) []string {
	var keys []string
	for _, each := range records {
		keys = append(keys, string(each.Key))
	}
	return keys
}

// consumeTransformProduce aborts every second transaction, and moves the group to a second session in the middle.
func consumeTransformProduce(ctx context.Context) {
	source, target := createTopic(ctx, "source", 1, nil), createTopic(ctx, "target", 1, nil)
	const count = 20
	fill(ctx, source, 1, count)
	for copied := 0; copied < count; {
		session := got(kgo.NewGroupTransactSession(
			kgo.SeedBrokers(bootstrap), kgo.ClientID("interop"), kgo.TransactionalID(source), kgo.ConsumerGroup(source),
			kgo.ConsumeTopics(source), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(100*time.Millisecond),
			kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
			kgo.HeartbeatInterval(100*time.Millisecond), kgo.SessionTimeout(6*time.Second),
		))
		for number := 0; number < 4 && copied < count; number++ {
			fetches := session.PollRecords(ctx, 5)
			must(fetches.Err0())
			must(session.Begin())
			for _, each := range fetches.Records() {
				must(session.ProduceSync(ctx, record(target, 0, int(each.Offset))).FirstErr())
			}
			committed, err := session.End(ctx, kgo.TransactionEndTry(number%2 == 1))
			must(err)
			if committed {
				copied += fetches.NumRecords()
			}
		}
		session.Close()
	}
	reader := client(fromStart(target, 1), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	defer reader.Close()
	for index, each := range read(ctx, reader, count) {
		equal(fmt.Sprintf("key-%d", index), string(each.Key))
	}
	offsets := got(admin.FetchOffsets(ctx, source))
	equal(int64(count), offsets[source][0].At)
	bounds := got(admin.ListEndOffsets(ctx, target))
	check(bounds[target][0].Offset > count+2, "no record was aborted")
}

// ---- consuming

func rebalance(ctx context.Context, name string, options ...kgo.Opt) {
	topic := createTopic(ctx, name, 4, nil)
	first := join(ctx, topic, topic, options...)
	defer first.leave()
	eventually(ctx, func() bool { return len(first.held()) == 4 })
	second := join(ctx, topic, topic, options...)
	eventually(ctx, func() bool { return len(first.held()) == 2 && len(second.held()) == 2 })
	both := append(first.held(), second.held()...)
	slices.Sort(both)
	equal([]int32{0, 1, 2, 3}, both)
	second.leave()
	eventually(ctx, func() bool { return len(first.held()) == 4 })
	fill(ctx, topic, 4, 40)
	eventually(ctx, func() bool { return len(first.read()) >= 40 })
	distinct := map[string]bool{}
	for _, key := range keys(first.read()) {
		distinct[key] = true
	}
	equal(40, len(distinct))
	must(first.CommitUncommittedOffsets(ctx))
	equal(int64(10), got(admin.FetchOffsets(ctx, topic))[topic][3].At)
}

func consumerProtocol(ctx context.Context) {
	rebalance(ctx, "kip848", kgo.ServerSideBalancer())
	described := got(admin.DescribeConsumerGroups(ctx, prefix+"-kip848"))[prefix+"-kip848"]
	equal("uniform", described.AssignorName)
}

// shareConsumer accepts every second record. The next member gets the released ones alone, for the second time.
func shareConsumer(ctx context.Context) {
	topic := createTopic(ctx, "share", 1, nil)
	const count = 20
	start := kadm.Offsets{}
	start.AddOffset(topic, 0, 0, -1)
	must(got(admin.AlterShareGroupOffsets(ctx, topic, start)).Error())
	fill(ctx, topic, 1, count)
	share := func(handle func(*kgo.Record)) {
		var failed error
		acknowledged := kgo.ShareAckCallback(func(_ *kgo.Client, results kgo.ShareAckResults) {
			failed = errors.Join(failed, results.Error())
		})
		cl := client(kgo.ShareGroup(topic), kgo.ConsumeTopics(topic), acknowledged)
		defer cl.Close()
		for left := count / 2; left > 0; {
			for _, each := range read(ctx, cl, 1) {
				handle(each)
				if each.Offset%2 == 1 {
					left--
				}
			}
		}
		must(cl.FlushAcks(ctx))
		must(failed)
	}
	share(func(each *kgo.Record) {
		equal(int32(1), each.DeliveryCount())
		if each.Offset%2 == 0 {
			each.Ack(kgo.AckAccept)
		} else {
			each.Ack(kgo.AckRelease)
		}
	})
	share(func(each *kgo.Record) {
		check(each.Offset%2 == 1, "offset %d was delivered after it was accepted", each.Offset)
		check(each.DeliveryCount() > 1, "the first delivery of offset %d", each.Offset)
		each.Ack(kgo.AckAccept)
	})
	described := got(admin.DescribeShareGroupOffsets(ctx, topic))[topic]
	offset, _ := described.Offsets.Lookup(topic, 0)
	equal(int64(0), offset.Lag)
}

func resume(ctx context.Context) {
	topic := filled(ctx, "resume", 20)
	first := join(ctx, topic, topic)
	eventually(ctx, func() bool { return len(first.read()) == 20 })
	must(first.CommitRecords(ctx, first.read()[7]))
	first.leave()
	second := join(ctx, topic, topic)
	defer second.leave()
	eventually(ctx, func() bool { return len(second.read()) == 12 })
	equal(int64(8), second.read()[0].Offset)
}

func staticMember(ctx context.Context) {
	topic := createTopic(ctx, "static", 2, nil)
	stays := join(ctx, topic, topic, kgo.InstanceID("stays"))
	defer stays.leave()
	leaves := join(ctx, topic, topic, kgo.InstanceID("leaves"))
	eventually(ctx, func() bool { return len(stays.held()) == 1 && len(leaves.held()) == 1 })
	_, generation := leaves.GroupMetadata()
	held := leaves.held()
	leaves.leave()
	returns := join(ctx, topic, topic, kgo.InstanceID("leaves"))
	defer returns.leave()
	eventually(ctx, func() bool { return len(returns.held()) == 1 })
	equal(held, returns.held())
	_, after := returns.GroupMetadata()
	equal(generation, after)
}

// ---- administration

func describeCluster(ctx context.Context) {
	described := got(admin.BrokerMetadata(ctx))
	equal(22, len(described.Cluster))
	check(slices.Contains(described.Brokers.NodeIDs(), described.Controller), "controller %d", described.Controller)
}

func describeTopics(ctx context.Context) {
	topic := createTopic(ctx, "describe", 3, nil)
	described := got(admin.ListTopics(ctx, topic))[topic]
	equal(3, len(described.Partitions))
	for _, each := range described.Partitions {
		must(each.Err)
		equal([]int32{each.Leader}, each.Replicas)
		equal([]int32{each.Leader}, each.ISR)
	}
}

func configs(ctx context.Context, topic string) map[string]*kadm.Config {
	described := got(got(admin.DescribeTopicConfigs(ctx, topic)).On(topic, nil))
	must(described.Err)
	byName := map[string]*kadm.Config{}
	for _, each := range described.Configs {
		byName[each.Key] = &each
	}
	return byName
}

func describeConfigs(ctx context.Context) {
	found := configs(ctx, createTopic(ctx, "configs", 1, map[string]*string{"cleanup.policy": text("compact")}))
	equal("compact", found["cleanup.policy"].MaybeValue())
	equal("1048588", found["max.message.bytes"].MaybeValue())
	check(slices.ContainsFunc(found["max.message.bytes"].Synonyms, func(each kadm.ConfigSynonym) bool {
		return each.Key == "message.max.bytes"
	}), "no synonym")
}

func alter(ctx context.Context, topic, key, value string) error {
	answers, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Name: key, Value: &value}}, topic)
	must(err)
	answer := got(answers.On(topic, nil))
	return answer.Err
}

func alterConfigs(ctx context.Context) {
	topic := createTopic(ctx, "alter", 1, map[string]*string{"retention.ms": text("60000")})
	must(alter(ctx, topic, "max.message.bytes", "1000"))
	eventually(ctx, func() bool { return configs(ctx, topic)["max.message.bytes"].MaybeValue() == "1000" })
	equal("60000", configs(ctx, topic)["retention.ms"].MaybeValue())
	refused(kerr.MessageTooLarge, produceLarge(ctx, topic, 2000))
}

func produceLarge(ctx context.Context, topic string, size int) error {
	cl := client(kgo.ProducerBatchMaxBytes(10_000_000))
	defer cl.Close()
	noise := make([]byte, size)
	for index := range noise {
		noise[index] = byte(rand.Int())
	}
	return cl.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: noise}).FirstErr()
}

func createPartitions(ctx context.Context) {
	topic := createTopic(ctx, "partitions", 1, nil)
	must(got(admin.UpdatePartitions(ctx, 3, topic)).Error())
	eventually(ctx, func() bool { return len(got(admin.ListTopics(ctx, topic))[topic].Partitions) == 3 })
}

func deleteBefore(ctx context.Context, topic string, at int64) error {
	offsets := kadm.Offsets{}
	offsets.AddOffset(topic, 0, at, -1)
	answers := got(admin.DeleteRecords(ctx, offsets))
	answer, _ := answers.Lookup(topic, 0)
	return answer.Err
}

func deleteRecords(ctx context.Context) {
	topic := filled(ctx, "delete-records", 10)
	must(deleteBefore(ctx, topic, 6))
	equal(int64(6), got(admin.ListStartOffsets(ctx, topic))[topic][0].Offset)
}

func offsetsEnds(ctx context.Context) {
	topic := filled(ctx, "ends", 10)
	equal(int64(0), got(admin.ListStartOffsets(ctx, topic))[topic][0].Offset)
	equal(int64(10), got(admin.ListEndOffsets(ctx, topic))[topic][0].Offset)
}

func offsetsTimestamp(ctx context.Context) {
	topic := filled(ctx, "timestamp", 10)
	equal(int64(4), got(admin.ListOffsetsAfterMilli(ctx, epochMs+4, topic))[topic][0].Offset)
}

func offsetsMaxTimestamp(ctx context.Context) {
	topic := filled(ctx, "max-timestamp", 10)
	equal(int64(9), got(admin.ListMaxTimestampOffsets(ctx, topic))[topic][0].Offset)
}

func isListed(ctx context.Context, group string) bool {
	return slices.Contains(got(admin.ListGroups(ctx)).Groups(), group)
}

func listGroups(ctx context.Context) {
	group := createTopic(ctx, "list-groups", 1, nil)
	check(!isListed(ctx, group), "listed before there is one")
	one := join(ctx, group, group)
	defer one.leave()
	eventually(ctx, func() bool { return len(one.held()) == 1 })
	check(isListed(ctx, group), "not listed")
}

func describeGroups(ctx context.Context) {
	topic := createTopic(ctx, "describe-groups", 2, nil)
	one := join(ctx, topic, topic)
	eventually(ctx, func() bool { return len(one.held()) == 2 })
	eventually(ctx, func() bool { return got(admin.DescribeGroups(ctx, topic))[topic].State == "Stable" })
	described := got(admin.DescribeGroups(ctx, topic))[topic]
	equal(1, len(described.Members))
	equal("interop", described.Members[0].ClientID)
	equal(topic, described.AssignedPartitions().Topics()[0])
	one.leave()
	equal(0, len(got(admin.DescribeGroups(ctx, topic))[topic].Members))
}

func deleteGroups(ctx context.Context) {
	group := filled(ctx, "delete-groups", 1)
	one := join(ctx, group, group)
	eventually(ctx, func() bool { return len(one.read()) == 1 })
	must(one.CommitUncommittedOffsets(ctx))
	one.leave()
	must(got(admin.DeleteGroups(ctx, group)).Error())
	check(!isListed(ctx, group), "still listed")
}

func deleteTopic(ctx context.Context) {
	topic := createTopic(ctx, "delete", 1, nil)
	got(admin.DeleteTopic(ctx, topic))
	eventually(ctx, func() bool { return !got(admin.ListTopics(ctx, topic)).Has(topic) })
	createTopic(ctx, "delete", 1, nil) // the name is free again
}

// ---- what a broker must refuse, by the error that the client makes of it

func refusals() []feature {
	nowhere := prefix + "-nowhere"
	refusal := func(name string, expected error, attempt func(ctx context.Context, topic string) error) feature {
		return feature{name, func(ctx context.Context) {
			refused(expected, attempt(ctx, createTopic(ctx, name, 2, nil)))
		}}
	}
	return []feature{
		refusal("refuse-existing-topic", kerr.TopicAlreadyExists, func(ctx context.Context, topic string) error {
			_, err := admin.CreateTopic(ctx, 1, 1, nil, topic)
			return err
		}),
		refusal("refuse-unknown-topic", kerr.UnknownTopicOrPartition, func(ctx context.Context, topic string) error {
			_, err := admin.DeleteTopic(ctx, nowhere)
			return err
		}),
		refusal("refuse-topic-name", kerr.InvalidTopicException, func(ctx context.Context, topic string) error {
			_, err := admin.CreateTopic(ctx, 1, 1, nil, "not a name")
			return err
		}),
		refusal("refuse-config-value", kerr.InvalidConfig, func(ctx context.Context, topic string) error {
			return alter(ctx, topic, "retention.ms", "soon")
		}),
		refusal("refuse-config-key", kerr.InvalidConfig, func(ctx context.Context, topic string) error {
			return alter(ctx, topic, "no.such.key", "1")
		}),
		refusal("refuse-partitions", kerr.InvalidPartitions, func(ctx context.Context, topic string) error {
			return got(admin.UpdatePartitions(ctx, 1, topic)).Error()
		}),
		refusal("refuse-replication-factor", kerr.InvalidReplicationFactor, func(ctx context.Context, topic string) error {
			_, err := admin.CreateTopic(ctx, 1, 9, nil, nowhere)
			return err
		}),
		refusal("refuse-large-message", kerr.MessageTooLarge, func(ctx context.Context, topic string) error {
			return produceLarge(ctx, topic, 2_000_000)
		}),
		refusal("refuse-offset", kerr.OffsetOutOfRange, func(ctx context.Context, topic string) error {
			return deleteBefore(ctx, topic, 99)
		}),
		refusal("refuse-unknown-group", kerr.GroupIDNotFound, func(ctx context.Context, topic string) error {
			return got(admin.DeleteGroups(ctx, nowhere)).Error()
		}),
		refusal("refuse-busy-group", kerr.NonEmptyGroup, func(ctx context.Context, topic string) error {
			one := join(ctx, topic, topic)
			defer one.leave()
			eventually(ctx, func() bool { return len(one.held()) == 2 })
			return got(admin.DeleteGroups(ctx, topic)).Error()
		}),
	}
}

// ---- the run

func features() []feature {
	all := []feature{{"create-topic", createOne}, {"auto-create", autoCreate}}
	for _, each := range codecs {
		codec := kgo.ProducerBatchCompression(each.codec)
		all = append(all,
			feature{"produce-" + each.name + "-plain", func(ctx context.Context) {
				produce(ctx, each.name+"-plain", codec, kgo.DisableIdempotentWrite())
			}},
			feature{"produce-" + each.name + "-idempotent", func(ctx context.Context) {
				produce(ctx, each.name+"-idempotent", codec)
			}})
	}
	all = append(all, []feature{
		{"acks", acks},
		{"transactions", transactions},
		{"consume-transform-produce", consumeTransformProduce},
		{"group-rebalance", func(ctx context.Context) { rebalance(ctx, "rebalance", kgo.Balancers(kgo.RangeBalancer())) }},
		{"group-rebalance-cooperative", func(ctx context.Context) { rebalance(ctx, "cooperative") }},
		{"group-resume", resume},
		{"static-member", staticMember},
		{"consumer-protocol", consumerProtocol},
		{"share-consumer", shareConsumer},
		{"describe-cluster", describeCluster},
		{"describe-topics", describeTopics},
		{"describe-configs", describeConfigs},
		{"alter-configs", alterConfigs},
		{"create-partitions", createPartitions},
		{"delete-records", deleteRecords},
		{"offsets-ends", offsetsEnds},
		{"offsets-timestamp", offsetsTimestamp},
		{"offsets-max-timestamp", offsetsMaxTimestamp},
		{"list-groups", listGroups},
		{"describe-groups", describeGroups},
		{"delete-groups", deleteGroups},
		{"delete-topic", deleteTopic},
	}...)
	return append(all, refusals()...)
}

func report(one feature) {
	start := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), featureLimit)
	defer cancel()
	ended := make(chan string, 1)
	go func() {
		defer func() {
			if failure := recover(); failure != nil {
				ended <- fmt.Sprintf("%v\n%s", failure, debug.Stack())
			}
		}()
		one.run(ctx)
		ended <- ""
	}()
	var detail string
	select {
	case detail = <-ended:
	case <-time.After(featureLimit + time.Second):
		detail = fmt.Sprintf("still running after %v", featureLimit)
	}
	line := map[string]any{
		"feature": one.name, "ok": detail == "", "seconds": time.Since(start).Seconds(), "detail": detail,
	}
	fmt.Println(string(got(json.Marshal(line))))
}

func main() {
	admin = kadm.NewClient(client())
	for _, each := range features() {
		report(each)
	}
}
