import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.serialization.*;

/**
 * Transactions of the Java client: `java -cp 'JARS/*' Epochs.java BOOTSTRAP TOPIC PARTITIONS ID...`.
 *
 * Each producer ends COUNT transactions, every second one with an abort, in all partitions of TOPIC and in the offsets of a
 * group with its transactional id as name. After each end it prints "ID NUMBER PRODUCER_ID EPOCH" of the coordinator.
 */
public final class Epochs {
    static final int COUNT = 4;

    public static void main(String[] arguments) throws Exception {
        String topic = arguments[1];
        int partitions = Integer.parseInt(arguments[2]);
        try (var admin = Admin.create(Map.of("bootstrap.servers", arguments[0]))) {
            for (String id : List.of(arguments).subList(3, arguments.length)) {
                var settings = Map.<String, Object>of("bootstrap.servers", arguments[0], "transactional.id", id);
                try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
                    producer.initTransactions();
                    for (int number = 0; number < COUNT; number++) {
                        write(producer, topic, partitions, id, number);
                        if (number % 2 == 0) producer.commitTransaction();
                        else producer.abortTransaction();
                        var state = admin.describeTransactions(List.of(id)).description(id).get();
                        System.out.printf("%s %d %d %d%n", id, number, state.producerId(), state.producerEpoch());
                    }
                }
            }
        }
    }

    static void write(Producer<String, String> producer, String topic, int partitions, String id, int number)
            throws Exception {
        producer.beginTransaction();
        for (int partition = 0; partition < partitions; partition++) {
            producer.send(new ProducerRecord<>(topic, partition, id, String.valueOf(number)));
        }
        var offsets = Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(number));
        producer.sendOffsetsToTransaction(offsets, new ConsumerGroupMetadata(id));
    }
}
