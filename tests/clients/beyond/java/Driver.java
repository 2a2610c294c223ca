import java.time.Duration;
import java.util.*;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.stream.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.*;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.serialization.*;

/**
 * The Java client against a broker: `java -cp 'JARS/*' Driver.java BOOTSTRAP PREFIX`.
 *
 * Starting a JVM is dear, so one run goes through every feature and prints one JSON line for each: {"feature", "ok", "seconds", "detail"}.
 * Features share nothing but the broker; each has its own topics and groups under PREFIX and FEATURE_LIMIT_S seconds.
 */
public final class Driver {
    static final int FEATURE_LIMIT_S = 60;
    static final Duration POLL = Duration.ofMillis(50);
    static final List<String> CODECS = List.of("none", "gzip", "snappy", "lz4", "zstd");
    static String bootstrap;
    static String prefix;
    static Admin admin;

    interface Feature {
        String run() throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        bootstrap = arguments[0];
        prefix = arguments[1];
        admin = Admin.create(settings(Map.of()));
        var features = new LinkedHashMap<String, Feature>();
        features.put("create-topic", Driver::createTopic);
        features.put("auto-create", Driver::autoCreateTopic);
        for (String codec : CODECS) {
            features.put("produce-" + codec + "-plain", () -> produce(codec, false, "all"));
            features.put("produce-" + codec + "-idempotent", () -> produce(codec, true, "all"));
        }
        features.put("acks", () -> produce("none", false, "0") + produce("none", false, "1"));
        features.put("log-append-time", Driver::logAppendTime);
        features.put("reset-out-of-range", Driver::resetOutOfRange);
        features.put("group-rebalance", () -> groupRebalance("RangeAssignor"));
        features.put("group-rebalance-cooperative", () -> groupRebalance("CooperativeStickyAssignor"));
        features.put("group-resume", Driver::groupResume);
        features.put("static-member", Driver::staticMember);
        features.put("alter-group-offsets", Driver::alterGroupOffsets);
        features.put("consumer-protocol", Driver::consumerProtocol);
        features.put("transactions", Driver::transactions);
        features.put("consume-transform-produce", Driver::consumeTransformProduce);
        features.put("describe-cluster", Driver::describeCluster);
        features.put("describe-features", Driver::describeFeatures);
        features.put("describe-topics", Driver::describeTopics);
        features.put("describe-configs", Driver::describeConfigs);
        features.put("alter-configs", Driver::alterConfigs);
        features.put("create-partitions", Driver::createPartitions);
        features.put("delete-records", Driver::deleteRecords);
        features.put("offsets-ends", Driver::offsetsEnds);
        features.put("offsets-timestamp", Driver::offsetsTimestamp);
        features.put("offsets-max-timestamp", Driver::offsetsMaxTimestamp);
        features.put("describe-log-dirs", Driver::describeLogDirs);
        features.put("describe-producers", Driver::describeProducers);
        features.put("list-groups", Driver::listGroups);
        features.put("describe-groups", Driver::describeGroups);
        features.put("delete-groups", Driver::deleteGroups);
        features.put("delete-topic", Driver::deleteTopic);
        refusals(features);
        features.forEach(Driver::report);
        System.out.flush();
        Runtime.getRuntime().halt(0); // a feature that hangs has had its line; it must not keep the JVM
    }

    static void report(String name, Feature feature) {
        var task = new FutureTask<String>(feature::run);
        var thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
        String detail;
        boolean ok = false;
        long start = System.nanoTime();
        try {
            detail = task.get(FEATURE_LIMIT_S, TimeUnit.SECONDS);
            ok = true;
        } catch (java.util.concurrent.TimeoutException | InterruptedException stuck) {
            detail = "still running after " + FEATURE_LIMIT_S + " s:" + trace(thread.getStackTrace(), "");
        } catch (ExecutionException failed) {
            Throwable cause = failed.getCause();
            detail = causes(cause) + trace(cause.getStackTrace(), "Driver");
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        System.out.printf(Locale.ROOT, "{\"feature\": %s, \"ok\": %s, \"seconds\": %.3f, \"detail\": %s}%n", quote(name), ok, seconds, quote(detail));
    }

    static String causes(Throwable error) {
        return error.getCause() == null ? error.toString() : error + ", because " + causes(error.getCause());
    }

    static String trace(StackTraceElement[] frames, String only) {
        return Arrays.stream(frames).filter(frame -> frame.getClassName().startsWith(only)).limit(12)
                .map(frame -> "\n  at " + frame).collect(Collectors.joining());
    }

    static String quote(String text) {
        var quoted = new StringBuilder("\"");
        for (char letter : text.toCharArray()) {
            if (letter == '"' || letter == '\\') quoted.append('\\').append(letter);
            else if (letter < ' ') quoted.append(String.format("\\u%04x", (int) letter));
            else quoted.append(letter);
        }
        return quoted.append('"').toString();
    }

    // ---- what the features are made of

    static Map<String, Object> settings(Map<String, ?> extra) {
        var settings = new HashMap<String, Object>(Map.of("bootstrap.servers", bootstrap));
        settings.putAll(extra);
        return settings;
    }

    static KafkaProducer<String, String> producer(Map<String, ?> extra) {
        return new KafkaProducer<>(settings(extra), new StringSerializer(), new StringSerializer());
    }

    static KafkaConsumer<String, String> consumer(String group, Map<String, ?> extra) {
        var settings = settings(Map.of("auto.offset.reset", "earliest", "enable.auto.commit", false, "fetch.max.wait.ms", 100));
        if (group != null) settings.put("group.id", group);
        if (!"consumer".equals(extra.get("group.protocol"))) // with the consumer protocol the broker sets them
            settings.putAll(Map.of("heartbeat.interval.ms", 100, "session.timeout.ms", 6000));
        settings.putAll(extra);
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    /**
     * A new topic whose leaders know that they lead. With ZooKeeper a client may learn that first. The leader then refuses
     * the first batches, and a broker of Apache Kafka takes a later one of an idempotent producer as its first.
     */
    static String topic(String name, int partitions, Map<String, String> configs) throws Exception {
        String full = prefix + "-" + name;
        admin.createTopics(List.of(new NewTopic(full, partitions, (short) 1).configs(configs))).all().get();
        var ends = partitions(full, partitions).stream().collect(Collectors.toMap(each -> each, each -> OffsetSpec.latest()));
        while (true) {
            try {
                admin.listOffsets(ends).all().get();
                return full;
            } catch (ExecutionException early) {
                if (!(early.getCause() instanceof RetriableException)) throw early;
                Thread.sleep(POLL.toMillis());
            }
        }
    }

    static List<TopicPartition> partitions(String topic, int count) {
        return IntStream.range(0, count).mapToObj(index -> new TopicPartition(topic, index)).toList();
    }

    /** `count` records, round robin over the partitions, each acknowledged. */
    static List<RecordMetadata> fill(String topic, int partitions, int count, Map<String, ?> extra) throws Exception {
        var acknowledged = new ArrayList<RecordMetadata>();
        try (var producer = producer(extra)) {
            var sent = new ArrayList<Future<RecordMetadata>>();
            for (int index = 0; index < count; index++)
                sent.add(producer.send(record(topic, index % partitions, index)));
            producer.flush();
            for (var one : sent) acknowledged.add(one.get());
        }
        return acknowledged;
    }

    /** A new topic of one partition with `count` records, one millisecond apart. */
    static String filled(String name, int count) throws Exception {
        String topic = topic(name, 1, Map.of());
        fill(topic, 1, count, Map.of());
        return topic;
    }

    static ProducerRecord<String, String> record(String topic, int partition, int index) {
        return new ProducerRecord<>(topic, partition, 1_700_000_000_000L + index, "key-" + index, "value-" + "x".repeat(100) + index,
                List.of(new RecordHeader("header", ("of " + index).getBytes())));
    }

    static List<ConsumerRecord<String, String>> read(Consumer<String, String> consumer, int count) {
        var records = new ArrayList<ConsumerRecord<String, String>>();
        while (records.size() < count) consumer.poll(POLL).forEach(records::add);
        return records;
    }

    static void pollUntil(Callable<Boolean> condition, Consumer<?, ?>... consumers) throws Exception {
        while (!condition.call()) for (var consumer : consumers) consumer.poll(POLL);
    }

    /** Asks the broker again and again: an answer may come from before a change that the controller has made. */
    static void eventually(Object expected, Callable<?> question) throws Exception {
        while (!Objects.equals(expected, question.call())) Thread.onSpinWait();
    }

    static void check(boolean held, Object what) {
        if (!held) throw new AssertionError(what);
    }

    static void equal(Object expected, Object actual) {
        check(Objects.equals(expected, actual), "expected " + expected + ", got " + actual);
    }

    static <E extends Throwable> E refused(Class<E> expected, Callable<?> action) {
        Throwable error;
        try {
            error = new AssertionError("no error; result " + action.call());
        } catch (Throwable thrown) {
            error = thrown;
        }
        for (Throwable cause = error; cause != null; cause = cause.getCause())
            if (expected.isInstance(cause)) return expected.cast(cause);
        throw new AssertionError("expected " + expected.getSimpleName(), error);
    }

    /** For what a broker may not offer yet: it works, or the client says at once that it does not; it never waits in vain. */
    static String worksOrRefused(Callable<?> action) throws Exception {
        try {
            return "works: " + action.call();
        } catch (Exception error) {
            for (Throwable cause = error; cause != null; cause = cause.getCause())
                if (cause instanceof org.apache.kafka.common.errors.TimeoutException) throw error;
            return "refused: " + causes(error);
        }
    }

    // ---- topics and producing

    static String createTopic() throws Exception {
        String name = prefix + "-create";
        var wanted = new NewTopic(name, 3, (short) 1).configs(Map.of("retention.ms", "123456"));
        admin.createTopics(List.of(wanted), new CreateTopicsOptions().validateOnly(true)).all().get();
        check(!admin.listTopics().names().get().contains(name), "validate-only created the topic");
        var created = admin.createTopics(List.of(wanted));
        check(!created.topicId(name).get().equals(Uuid.ZERO_UUID), "no topic id");
        equal(3, created.numPartitions(name).get());
        equal(1, created.replicationFactor(name).get());
        equal("123456", created.config(name).get().get("retention.ms").value());
        return "";
    }

    static String autoCreateTopic() throws Exception {
        String topic = prefix + "-auto";
        try (var producer = producer(Map.of())) {
            producer.send(new ProducerRecord<>(topic, "key", "value")).get();
        }
        check(admin.listTopics().names().get().contains(topic), "not listed");
        return "";
    }

    static String produce(String codec, boolean idempotent, String acks) throws Exception {
        String topic = topic("produce-" + codec + "-" + idempotent + "-" + acks, 2, Map.of());
        int count = 200;
        var metadata = fill(topic, 2, count, Map.of("compression.type", codec, "enable.idempotence", idempotent, "acks", acks,
                "linger.ms", 5, "batch.size", 4096));
        if (!acks.equals("0")) equal((long) count / 2 - 1, metadata.get(count - 1).offset());
        try (var consumer = consumer(null, Map.of("check.crcs", true))) {
            consumer.assign(partitions(topic, 2));
            var records = read(consumer, count);
            records.sort(Comparator.comparing(ConsumerRecord::timestamp));
            for (int index = 0; index < count; index++) {
                var got = records.get(index);
                var sent = record(topic, index % 2, index);
                equal(List.of(sent.key(), sent.value(), sent.timestamp(), sent.headers(), index / 2),
                        List.of(got.key(), got.value(), got.timestamp(), got.headers(), (int) got.offset()));
            }
        }
        return "";
    }

    static String logAppendTime() throws Exception {
        String topic = topic("append-time", 1, Map.of("message.timestamp.type", "LogAppendTime"));
        long before = System.currentTimeMillis();
        var stamped = fill(topic, 1, 2, Map.of("compression.type", "gzip")).get(1);
        check(stamped.timestamp() >= before, "acknowledged with timestamp " + stamped.timestamp());
        try (var consumer = consumer(null, Map.of())) {
            consumer.assign(partitions(topic, 1));
            for (var record : read(consumer, 2)) {
                equal(TimestampType.LOG_APPEND_TIME, record.timestampType());
                check(record.timestamp() >= before, record);
            }
        }
        return "";
    }

    // ---- consuming

    static String resetOutOfRange() throws Exception {
        String topic = filled("reset", 20);
        var partition = new TopicPartition(topic, 0);
        try (var consumer = consumer(null, Map.of("auto.offset.reset", "earliest"))) {
            consumer.assign(List.of(partition));
            consumer.seek(partition, 15);
            equal("key-15", read(consumer, 1).get(0).key());
            consumer.seek(partition, 1000);
            equal(0L, read(consumer, 1).get(0).offset());
        }
        try (var strict = consumer(null, Map.of("auto.offset.reset", "none"))) {
            strict.assign(List.of(partition));
            strict.seek(partition, 1000);
            refused(org.apache.kafka.clients.consumer.OffsetOutOfRangeException.class, () -> read(strict, 1));
        }
        return "";
    }

    static String groupRebalance(String assignor) throws Exception {
        return groupRebalance(assignor, Map.of("partition.assignment.strategy", "org.apache.kafka.clients.consumer." + assignor));
    }

    static String consumerProtocol() throws Exception {
        return groupRebalance("kip848", Map.of("group.protocol", "consumer"));
    }

    static String groupRebalance(String name, Map<String, ?> extra) throws Exception {
        String topic = topic("group-" + name, 4, Map.of());
        String group = topic;
        var all = Set.copyOf(partitions(topic, 4));
        try (var first = consumer(group, extra)) {
            first.subscribe(List.of(topic));
            pollUntil(() -> first.assignment().equals(all), first);
            try (var second = consumer(group, extra)) {
                second.subscribe(List.of(topic));
                pollUntil(() -> first.assignment().size() == 2 && second.assignment().size() == 2, first, second);
                var both = new HashSet<>(first.assignment());
                both.addAll(second.assignment());
                equal(all, both);
            }
            pollUntil(() -> first.assignment().equals(all), first);
            fill(topic, 4, 40, Map.of());
            var values = read(first, 40).stream().map(ConsumerRecord::key).collect(Collectors.toSet());
            equal(40, values.size());
            first.commitSync();
        }
        return "";
    }

    static String staticMember() throws Exception {
        String topic = topic("static", 2, Map.of());
        String group = topic;
        try (var stays = consumer(group, Map.of("group.instance.id", "stays"))) {
            stays.subscribe(List.of(topic));
            Set<TopicPartition> before;
            int generation;
            try (var leaves = consumer(group, Map.of("group.instance.id", "leaves"))) {
                leaves.subscribe(List.of(topic));
                pollUntil(() -> stays.assignment().size() == 1 && leaves.assignment().size() == 1, stays, leaves);
                before = Set.copyOf(leaves.assignment());
                generation = leaves.groupMetadata().generationId();
            }
            var members = admin.describeConsumerGroups(List.of(group)).all().get().get(group).members();
            equal(Set.of("stays", "leaves"), members.stream().map(member -> member.groupInstanceId().orElse("-")).collect(Collectors.toSet()));
            try (var returns = consumer(group, Map.of("group.instance.id", "leaves"))) {
                returns.subscribe(List.of(topic));
                pollUntil(() -> !returns.assignment().isEmpty(), stays, returns);
                equal(before, returns.assignment());
                equal(generation, returns.groupMetadata().generationId());
                try (var usurper = consumer(group, Map.of("group.instance.id", "leaves"))) {
                    usurper.subscribe(List.of(topic));
                    pollUntil(() -> !usurper.assignment().isEmpty(), stays, usurper);
                    refused(FencedInstanceIdException.class, () -> {
                        pollUntil(() -> false, returns);
                        return null;
                    });
                }
            }
            admin.removeMembersFromConsumerGroup(group, new RemoveMembersFromConsumerGroupOptions(Set.of(new MemberToRemove("leaves")))).all().get();
            pollUntil(() -> stays.assignment().size() == 2, stays);
        }
        admin.removeMembersFromConsumerGroup(group, new RemoveMembersFromConsumerGroupOptions()).all().get();
        return "";
    }

    static String groupResume() throws Exception {
        String topic = topic("resume", 1, Map.of());
        String group = topic;
        var partition = new TopicPartition(topic, 0);
        fill(topic, 1, 20, Map.of());
        try (var consumer = consumer(group, Map.of("max.poll.records", 8))) {
            consumer.subscribe(List.of(topic));
            equal(8, read(consumer, 8).size());
            consumer.commitSync(Map.of(partition, new OffsetAndMetadata(8, Optional.of(0), "noted")));
        }
        try (var consumer = consumer(group, Map.of("auto.offset.reset", "none"))) {
            equal("noted", consumer.committed(Set.of(partition)).get(partition).metadata());
            consumer.subscribe(List.of(topic));
            equal(8L, read(consumer, 12).get(0).offset());
            var acknowledged = new CompletableFuture<Long>();
            consumer.commitAsync((offsets, error) -> {
                if (error == null) acknowledged.complete(offsets.get(partition).offset());
                else acknowledged.completeExceptionally(error);
            });
            pollUntil(acknowledged::isDone, consumer);
            equal(20L, acknowledged.get());
        }
        return "";
    }

    static String transactions() throws Exception {
        String topic = topic("transactions", 1, Map.of());
        try (var producer = producer(Map.of("transactional.id", topic, "max.block.ms", 10_000))) {
            producer.initTransactions();
            for (int number = 0; number < 4; number++) {
                producer.beginTransaction();
                producer.send(record(topic, 0, number)).get();
                if (number % 2 == 0) {
                    producer.commitTransaction();
                } else {
                    producer.abortTransaction();
                }
            }
        }
        try (var consumer = consumer(null, Map.of("isolation.level", "read_committed"))) {
            var partition = new TopicPartition(topic, 0);
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            equal(2, read(consumer, 2).size());
            check(consumer.poll(POLL).isEmpty(), "an aborted record");
        }
        return "committed and aborted";
    }

    /** Every second transaction is aborted; its records are read again, since the consumer goes back to the group's offsets. */
    static String consumeTransformProduce() throws Exception {
        String source = filled("source", 20);
        String target = topic("target", 1, Map.of());
        var partition = new TopicPartition(source, 0);
        try (var consumer = consumer(source, Map.of("isolation.level", "read_committed", "max.poll.records", 5));
                var producer = producer(Map.of("transactional.id", source, "max.block.ms", 10_000))) {
            consumer.subscribe(List.of(source));
            producer.initTransactions();
            for (int number = 0; consumer.committed(Set.of(partition)).get(partition) == null
                    || consumer.committed(Set.of(partition)).get(partition).offset() < 20; number++) {
                var records = read(consumer, 5);
                producer.beginTransaction();
                for (var record : records) producer.send(new ProducerRecord<>(target, record.key(), record.value()));
                long end = records.get(records.size() - 1).offset() + 1;
                producer.sendOffsetsToTransaction(Map.of(partition, new OffsetAndMetadata(end)), consumer.groupMetadata());
                if (number % 2 == 0) {
                    producer.abortTransaction();
                    var committed = consumer.committed(Set.of(partition)).get(partition);
                    consumer.seek(partition, committed == null ? 0 : committed.offset());
                } else {
                    producer.commitTransaction();
                }
            }
        }
        try (var consumer = consumer(null, Map.of("isolation.level", "read_committed"))) {
            consumer.assign(partitions(target, 1));
            var keys = read(consumer, 20).stream().map(ConsumerRecord::key).toList();
            equal(IntStream.range(0, 20).mapToObj(index -> "key-" + index).toList(), keys);
        }
        return "";
    }

    // ---- administration

    static String describeCluster() throws Exception {
        var cluster = admin.describeCluster();
        equal(22, cluster.clusterId().get().length());
        var nodes = cluster.nodes().get();
        check(!nodes.isEmpty() && nodes.stream().anyMatch(node -> node.port() > 0), nodes);
        check(nodes.contains(cluster.controller().get()), "controller " + cluster.controller().get() + " is not among " + nodes);
        return cluster.clusterId().get();
    }

    static String describeFeatures() throws Exception {
        var features = admin.describeFeatures().featureMetadata().get();
        check(features.supportedFeatures().containsKey("metadata.version"), features);
        check(features.finalizedFeatures().get("metadata.version").maxVersionLevel() >= 21, features);
        return features.finalizedFeatures().toString();
    }

    static String describeTopics() throws Exception {
        String topic = topic("describe", 3, Map.of());
        var byName = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
        equal(3, byName.partitions().size());
        for (var partition : byName.partitions()) {
            check(partition.leader() != null, partition);
            equal(List.of(partition.leader()), partition.replicas());
            equal(List.of(partition.leader()), partition.isr());
        }
        check(!byName.isInternal(), byName);
        var id = byName.topicId();
        equal(topic, admin.describeTopics(TopicCollection.ofTopicIds(List.of(id))).allTopicIds().get().get(id).name());
        equal(id, admin.listTopics().namesToListings().get().get(topic).topicId());
        return "";
    }

    static ConfigResource resource(String topic) {
        return new ConfigResource(ConfigResource.Type.TOPIC, topic);
    }

    static ConfigEntry config(ConfigResource resource, String key) throws Exception {
        return admin.describeConfigs(List.of(resource)).all().get().get(resource).get(key);
    }

    static String describeConfigs() throws Exception {
        var topic = resource(topic("configs", 1, Map.of("cleanup.policy", "compact")));
        equal(ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG, config(topic, "cleanup.policy").source());
        equal("compact", config(topic, "cleanup.policy").value());
        equal("1048588", config(topic, "max.message.bytes").value());
        equal(ConfigEntry.ConfigType.LIST, config(topic, "cleanup.policy").type());
        check(config(topic, "cleanup.policy").isDefault() == false, "an override is said to be a default");
        var options = new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true);
        var described = admin.describeConfigs(List.of(topic), options).all().get().get(topic).get("max.message.bytes");
        check(described.documentation() != null && !described.documentation().isEmpty(), "no documentation");
        check(described.synonyms().stream().anyMatch(synonym -> synonym.name().equals("message.max.bytes")), described.synonyms());
        String node = admin.describeCluster().nodes().get().iterator().next().idString();
        var broker = new ConfigResource(ConfigResource.Type.BROKER, node);
        equal(node, config(broker, "node.id").value());
        equal(ConfigEntry.ConfigSource.STATIC_BROKER_CONFIG, config(broker, "log.dirs").source());
        return "";
    }

    static Future<Void> alter(ConfigResource topic, String key, String value, AlterConfigOp.OpType operation) throws Exception {
        var change = new AlterConfigOp(new ConfigEntry(key, value), operation);
        var done = admin.incrementalAlterConfigs(Map.of(topic, List.of(change))).all();
        done.get();
        return done;
    }

    static String alterConfigs() throws Exception {
        var topic = resource(topic("alter", 1, Map.of()));
        alter(topic, "retention.ms", "60000", AlterConfigOp.OpType.SET);
        eventually("60000", () -> config(topic, "retention.ms").value());
        alter(topic, "cleanup.policy", "compact", AlterConfigOp.OpType.APPEND);
        eventually(Set.of("compact", "delete"), () -> Set.of(config(topic, "cleanup.policy").value().split(",")));
        alter(topic, "cleanup.policy", "delete", AlterConfigOp.OpType.SUBTRACT);
        eventually("compact", () -> config(topic, "cleanup.policy").value());
        alter(topic, "retention.ms", "", AlterConfigOp.OpType.DELETE);
        eventually(true, () -> config(topic, "retention.ms").isDefault());
        alter(topic, "max.message.bytes", "1000", AlterConfigOp.OpType.SET);
        eventually("1000", () -> config(topic, "max.message.bytes").value());
        try (var producer = producer(Map.of())) {
            refused(RecordTooLargeException.class, () -> producer.send(new ProducerRecord<>(topic.name(), "key", "x".repeat(2000))).get());
        }
        return "";
    }

    static String createPartitions() throws Exception {
        String topic = topic("partitions", 1, Map.of());
        admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all().get();
        eventually(3, () -> admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size());
        fill(topic, 3, 9, Map.of());
        return "";
    }

    static long offset(String topic, OffsetSpec spec) throws Exception {
        var partition = new TopicPartition(topic, 0);
        return admin.listOffsets(Map.of(partition, spec)).partitionResult(partition).get().offset();
    }

    static String offsetsEnds() throws Exception {
        String topic = filled("ends", 10);
        equal(0L, offset(topic, OffsetSpec.earliest()));
        equal(10L, offset(topic, OffsetSpec.latest()));
        try (var consumer = consumer(null, Map.of())) {
            equal(Map.of(new TopicPartition(topic, 0), 0L), consumer.beginningOffsets(partitions(topic, 1)));
            equal(Map.of(new TopicPartition(topic, 0), 10L), consumer.endOffsets(partitions(topic, 1)));
        }
        return "";
    }

    static String offsetsTimestamp() throws Exception {
        String topic = filled("timestamps", 10);
        equal(4L, offset(topic, OffsetSpec.forTimestamp(1_700_000_000_004L)));
        equal(-1L, offset(topic, OffsetSpec.forTimestamp(1_800_000_000_000L)));
        var partition = new TopicPartition(topic, 0);
        try (var consumer = consumer(null, Map.of())) {
            equal(7L, consumer.offsetsForTimes(Map.of(partition, 1_700_000_000_007L)).get(partition).offset());
            check(consumer.offsetsForTimes(Map.of(partition, 1_800_000_000_000L)).get(partition) == null, "an offset after the end");
        }
        return "";
    }

    static String offsetsMaxTimestamp() throws Exception {
        equal(9L, offset(filled("max-timestamp", 10), OffsetSpec.maxTimestamp()));
        return "";
    }

    static String deleteRecords() throws Exception {
        String topic = filled("delete-records", 10);
        var partition = new TopicPartition(topic, 0);
        equal(6L, admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(6))).lowWatermarks().get(partition).get().lowWatermark());
        equal(6L, admin.listOffsets(Map.of(partition, OffsetSpec.earliest())).partitionResult(partition).get().offset());
        try (var consumer = consumer(null, Map.of())) {
            consumer.assign(List.of(partition));
            equal(6L, read(consumer, 4).get(0).offset());
        }
        return "";
    }

    static String describeLogDirs() throws Exception {
        String topic = filled("log-dirs", 10);
        int node = admin.describeCluster().nodes().get().iterator().next().id();
        var directories = admin.describeLogDirs(List.of(node)).allDescriptions().get().get(node);
        for (var directory : directories.entrySet()) {
            var replica = directory.getValue().replicaInfos().get(new TopicPartition(topic, 0));
            if (replica == null) continue;
            check(replica.size() > 0 && replica.offsetLag() == 0, replica);
            check(directory.getValue().totalBytes().orElse(-1) > 0, "no size of the volume");
            return directory.getKey();
        }
        throw new AssertionError("the partition is in none of " + directories);
    }

    static String describeProducers() throws Exception {
        String topic = topic("producers", 1, Map.of());
        fill(topic, 1, 3, Map.of("enable.idempotence", true));
        var partition = new TopicPartition(topic, 0);
        return worksOrRefused(() -> {
            var states = admin.describeProducers(List.of(partition)).partitionResult(partition).get().activeProducers();
            equal(1, states.size());
            equal(2, states.get(0).lastSequence());
            return states.get(0);
        });
    }

    static KafkaConsumer<String, String> member(String topic) throws Exception {
        var member = consumer(topic, Map.of("client.id", "the-member"));
        member.subscribe(List.of(topic));
        pollUntil(() -> !member.assignment().isEmpty(), member);
        return member;
    }

    static boolean listed(String group) throws Exception {
        return admin.listConsumerGroups().all().get().stream().anyMatch(one -> one.groupId().equals(group) && !one.isSimpleConsumerGroup());
    }

    static String listGroups() throws Exception {
        String group = topic("list-groups", 1, Map.of());
        check(!listed(group), "listed before there is one");
        try (var member = member(group)) {
            check(listed(group), "not listed");
        }
        return "";
    }

    static String describeGroups() throws Exception {
        String topic = topic("describe-groups", 2, Map.of());
        try (var member = member(topic)) {
            var described = admin.describeConsumerGroups(List.of(topic)).all().get().get(topic);
            equal(1, described.members().size());
            equal("the-member", described.members().iterator().next().clientId());
            equal(Set.copyOf(partitions(topic, 2)), described.members().iterator().next().assignment().topicPartitions());
            equal("range", described.partitionAssignor());
        }
        equal(0, admin.describeConsumerGroups(List.of(topic)).all().get().get(topic).members().size());
        return "";
    }

    static String deleteGroups() throws Exception {
        String group = topic("delete-groups", 1, Map.of());
        try (var member = member(group)) {
            member.commitSync(Map.of(new TopicPartition(group, 0), new OffsetAndMetadata(0)));
        }
        check(listed(group), "not listed");
        admin.deleteConsumerGroups(List.of(group)).all().get();
        check(!listed(group), "still listed");
        return "";
    }

    static String alterGroupOffsets() throws Exception {
        String topic = topic("group-offsets", 2, Map.of());
        String group = topic;
        var zero = new TopicPartition(topic, 0);
        var one = new TopicPartition(topic, 1);
        var wanted = Map.of(zero, new OffsetAndMetadata(3), one, new OffsetAndMetadata(4));
        admin.alterConsumerGroupOffsets(group, wanted).all().get();
        var stored = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
        equal(3L, stored.get(zero).offset());
        equal(4L, stored.get(one).offset());
        admin.deleteConsumerGroupOffsets(group, Set.of(zero)).all().get();
        check(admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().get(zero) == null, "offset still there");
        try (var consumer = consumer(group, Map.of())) {
            consumer.subscribe(List.of(topic));
            pollUntil(() -> consumer.assignment().size() == 2, consumer);
            equal(4L, consumer.committed(Set.of(one)).get(one).offset());
            refused(UnknownMemberIdException.class, () -> admin.alterConsumerGroupOffsets(group, wanted).all().get());
        }
        return "";
    }

    static String deleteTopic() throws Exception {
        String byName = topic("delete-by-name", 1, Map.of());
        admin.deleteTopics(List.of(byName)).all().get();
        var id = admin.createTopics(List.of(new NewTopic(byName, 1, (short) 1))).topicId(byName).get(); // the name is free again
        admin.deleteTopics(TopicCollection.ofTopicIds(List.of(id))).all().get();
        eventually(false, () -> admin.listTopics().names().get().contains(byName));
        return "";
    }

    // ---- what a broker must refuse, by the error that the client makes of it

    static void refusals(Map<String, Feature> features) {
        String nowhere = prefix + "-nowhere";
        refusal(features, "refuse-existing-topic", TopicExistsException.class,
                topic -> admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all());
        refusal(features, "refuse-unknown-topic", UnknownTopicOrPartitionException.class,
                topic -> admin.deleteTopics(List.of(nowhere)).all());
        refusal(features, "refuse-unknown-topic-id", UnknownTopicIdException.class,
                topic -> admin.describeTopics(TopicCollection.ofTopicIds(List.of(Uuid.randomUuid()))).allTopicIds());
        refusal(features, "refuse-topic-name", InvalidTopicException.class,
                topic -> admin.createTopics(List.of(new NewTopic("not a name", 1, (short) 1))).all());
        refusal(features, "refuse-config-value", InvalidConfigurationException.class,
                topic -> alter(resource(topic), "retention.ms", "soon", AlterConfigOp.OpType.SET));
        refusal(features, "refuse-config-key", InvalidConfigurationException.class,
                topic -> alter(resource(topic), "no.such.key", "1", AlterConfigOp.OpType.SET));
        refusal(features, "refuse-partitions", InvalidPartitionsException.class,
                topic -> admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(1))).all());
        refusal(features, "refuse-replication-factor", InvalidReplicationFactorException.class,
                topic -> admin.createTopics(List.of(new NewTopic(nowhere, 1, (short) 9))).all());
        refusal(features, "refuse-offset", org.apache.kafka.common.errors.OffsetOutOfRangeException.class,
                topic -> admin.deleteRecords(Map.of(new TopicPartition(topic, 0), RecordsToDelete.beforeOffset(99))).all());
        refusal(features, "refuse-unknown-group", GroupIdNotFoundException.class, topic -> admin.deleteConsumerGroups(List.of(nowhere)).all());
        refusal(features, "refuse-busy-group", GroupNotEmptyException.class, topic -> {
            try (var member = member(topic)) {
                admin.deleteConsumerGroups(List.of(topic)).all().get();
            }
            return null;
        });
        refusal(features, "refuse-large-message", RecordTooLargeException.class, topic -> {
            alter(resource(topic), "max.message.bytes", "100000", AlterConfigOp.OpType.SET);
            try (var producer = producer(Map.of("max.request.size", 10_000_000))) {
                return producer.send(new ProducerRecord<>(topic, "x".repeat(300_000)));
            }
        });
    }

    interface Attempt {
        Future<?> on(String topic) throws Exception;
    }

    static void refusal(Map<String, Feature> features, String name, Class<? extends Throwable> expected, Attempt attempt) {
        features.put(name, () -> {
            String topic = topic(name, 2, Map.of());
            return refused(expected, () -> attempt.on(topic).get()).toString();
        });
    }
}
