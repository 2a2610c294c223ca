import java.io.FileReader;
import java.time.Duration;
import java.util.*;
import java.util.stream.*;
import org.apache.kafka.common.utils.Exit;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.Materialized;

/**
 * A Kafka Streams application: `java -cp 'JARS/*:.' Sums PROPERTIES`.
 *
 * It reads numbers from "in", groups them by their remainder (a repartition topic), and writes "REMAINDER:SUM" to "out" for each
 * number. It prints "state STATE" at each change of its state, and "tasks ACTIVE STANDBY" when the number of its tasks changes.
 */
public final class Sums {
    static final int REMAINDERS = 4;

    public static void main(String[] arguments) throws Exception {
        var settings = new Properties();
        try (var file = new FileReader(arguments[0])) {
            settings.load(file);
        }
        var builder = new StreamsBuilder();
        builder.<String, String>stream("in")
                .groupBy((none, number) -> String.valueOf(Long.parseLong(number) % REMAINDERS))
                .reduce((sum, number) -> String.valueOf(Long.parseLong(sum) + Long.parseLong(number)), Materialized.as("sums"))
                .toStream().mapValues((remainder, sum) -> remainder + ":" + sum).to("out");
        var streams = new KafkaStreams(builder.build(), settings);
        streams.setStateListener((now, before) -> System.out.println("state " + now));
        Exit.addShutdownHook("close", () -> streams.close(Duration.ofSeconds(30)));
        streams.start();
        for (String tasks = ""; ; Thread.sleep(50)) {
            var threads = streams.metadataForLocalThreads();
            int active = threads.stream().mapToInt(each -> each.activeTasks().size()).sum();
            int standby = threads.stream().mapToInt(each -> each.standbyTasks().size()).sum();
            String line = "tasks " + active + " " + standby;
            if (!line.equals(tasks)) System.out.println(line);
            tasks = line;
        }
    }
}
