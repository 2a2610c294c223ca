import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.*;
import java.util.*;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.*;
import org.apache.kafka.coordinator.group.assignor.*;
import org.apache.kafka.coordinator.group.modern.*;

/**
 * The assignors of Apache Kafka: `java -cp 'JARS/*' Assign.java < CASES`.
 *
 * Each line is one group in JSON. It prints the assignment of each member as one line of JSON, null if the assignor fails.
 */
public final class Assign {
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws IOException {
        var lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) {
            try {
                System.out.println(JSON.writeValueAsString(assigned(JSON.readTree(line))));
            } catch (NoSuchElementException error) {
                System.out.println("null");
            }
        }
    }

    static Map<String, Map<String, List<Integer>>> assigned(JsonNode group) {
        var members = new LinkedHashMap<String, MemberSubscriptionAndAssignmentImpl>();
        var owners = new HashMap<Uuid, Map<Integer, String>>();
        for (JsonNode member : group.get("members")) {
            String id = member.get("id").asText();
            var topics = new LinkedHashSet<Uuid>();
            member.get("topics").forEach(topic -> topics.add(Uuid.fromString(topic.asText())));
            var previous = partitions(member.get("previous"));
            previous.forEach((topic, some) -> some.forEach(
                partition -> owners.computeIfAbsent(topic, each -> new HashMap<>()).put(partition, id)));
            var instance = Optional.ofNullable(member.get("instance").textValue());
            members.put(id, new MemberSubscriptionAndAssignmentImpl(
                Optional.empty(), instance, topics, new Assignment(previous)));
        }
        var type = group.get("homogeneous").asBoolean() ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        var assignable = partitions(group.get("assignable"));
        var counts = new HashMap<Uuid, Integer>();
        group.get("counts").properties().forEach(
            each -> counts.put(Uuid.fromString(each.getKey()), each.getValue().asInt()));
        var topics = new SubscribedTopicDescriber() {
            @Override
            public int numPartitions(Uuid topic) {
                return counts.getOrDefault(topic, -1);
            }

            @Override
            public Set<String> racksForPartition(Uuid topic, int partition) {
                return Set.of();
            }
        };
        String name = group.get("assignor").asText();
        var spec = name.equals("simple")
            ? new GroupSpecImpl(members, type, owners, Optional.of(assignable))
            : new GroupSpecImpl(members, type, owners);
        PartitionAssignor assignor = switch (name) {
            case "simple" -> new SimpleAssignor();
            case "range" -> new RangeAssignor();
            default -> new UniformAssignor();
        };
        var result = new TreeMap<String, Map<String, List<Integer>>>();
        assignor.assign(spec, topics).members().forEach((id, assignment) -> {
            var share = new TreeMap<String, List<Integer>>();
            assignment.partitions().forEach((topic, some) -> {
                if (!some.isEmpty()) share.put(topic.toString(), some.stream().sorted().toList());
            });
            result.put(id, share);
        });
        return result;
    }

    static Map<Uuid, Set<Integer>> partitions(JsonNode topics) {
        var found = new LinkedHashMap<Uuid, Set<Integer>>();
        topics.properties().forEach(topic -> {
            var some = new LinkedHashSet<Integer>();
            topic.getValue().forEach(each -> some.add(each.asInt()));
            found.put(Uuid.fromString(topic.getKey()), some);
        });
        return found;
    }
}
