import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.*;

/**
 * The share consumer of the Java client (KIP-932), which 3.9 does not have: `java -cp 'JARS/*' Share.java BOOTSTRAP PREFIX`.
 *
 * The first member accepts the records with even offsets and releases the others. The next member must get the released ones,
 * and no other. One JSON line says that this worked, as in Driver.java.
 */
public final class Share {
    static final int COUNT = 20;
    static String bootstrap;
    static String topic;

    public static void main(String[] arguments) throws Exception {
        bootstrap = arguments[0];
        topic = arguments[1] + "-share";
        try (var admin = Admin.create(Map.<String, Object>of("bootstrap.servers", bootstrap))) {
            admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
            var reset = new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET);
            admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.GROUP, topic), List.of(reset))).all().get();
        }
        var settings = Map.<String, Object>of("bootstrap.servers", bootstrap);
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (int index = 0; index < COUNT; index++) producer.send(new ProducerRecord<>(topic, String.valueOf(index)));
        }
        member(true);
        member(false);
        System.out.println("{\"feature\": \"share-consumer\", \"ok\": true, \"detail\": \"\"}");
    }

    /** A member that goes when it has had each of the odd offsets. */
    static void member(boolean isFirst) {
        var settings = Map.<String, Object>of("bootstrap.servers", bootstrap, "group.id", topic, "share.acknowledgement.mode", "explicit");
        try (var consumer = new KafkaShareConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            for (var odd = new HashSet<Long>(); odd.size() < COUNT / 2; ) {
                for (var record : consumer.poll(Duration.ofMillis(100))) {
                    boolean isOdd = record.offset() % 2 == 1;
                    if (isOdd) odd.add(record.offset());
                    else if (!isFirst) throw new AssertionError("delivered after it was accepted: " + record);
                    consumer.acknowledge(record, isOdd && isFirst ? AcknowledgeType.RELEASE : AcknowledgeType.ACCEPT);
                }
                for (var failure : consumer.commitSync().values())
                    if (failure.isPresent()) throw failure.get();
            }
        }
    }
}
